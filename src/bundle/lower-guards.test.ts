import { describe, expect, it } from 'vitest';
import { guardNames } from '../module/javascript/guard-names.ts';
import { readSourceMap } from '../module/javascript/source-map.ts';
import { ProgramError } from '../module/runner.ts';
import { linkProgram } from './link.ts';
import { lowerGuards } from './lower-guards.ts';

const lowered = async (script: string) =>
  (await lowerGuards({ script, sourceMap: '' })).script.replaceAll('reducerdb$', '$');

/** Runs the body of a function with guards that record their arguments. */
async function run(body: string): Promise<{ value: unknown; guarded: unknown[] }> {
  const { script } = await lowerGuards({ script: `run = function () { ${body} }`, sourceMap: '' });
  const names = Object.values(guardNames);
  const guarded: unknown[] = [];
  const note = (value: unknown) => {
    guarded.push(value);
    return value;
  };
  const make = new Function(...names, `"use strict"; let run; ${script}; return run();`);
  return { value: make(...names.map(() => note)), guarded };
}

describe('guards of syntax', () => {
  it('stand around what lists keys or copies elements', async () => {
    expect(await lowered('for (const k in a, b) f(k);')).toBe(
      'for (const k in $keys((a, b))) f(k);',
    );
    expect(await lowered('x = { a, ...b, ...c() };')).toBe('x = { a, ...$few(b), ...$few(c()) };');
    expect(await lowered('const { a, ...b } = c;')).toBe('const { a, ...b } = $few(c);');
    expect(await lowered('({ a, ...b } = c);')).toBe('({ a, ...b } = $few(c));');
    expect(await lowered('f(...[...a]);')).toBe('f(...$items([...$items(a)]));');
    expect(await lowered('const { a } = b; for (const c of d) e();')).toBe(
      'const { a } = b; for (const c of d) e();',
    );
  });

  it('find room where a pattern with a rest is a parameter', async () => {
    const body = `
      const f = (ctx, { a, ...rest } = { a: 7 }) => ({ ...rest, a });
      function g({ b: c, ...rest }) { return [c, rest, () => rest]; }
      return [f(0, { a: 1, b: 2 }), f(0), f.length, g({ b: 3, d: 4 }).slice(0, 2), g.length];`;
    const { value, guarded } = await run(body);
    expect(value).toEqual([{ a: 1, b: 2 }, { a: 7 }, 1, [3, { d: 4 }], 1]);
    expect(guarded).toContainEqual({ b: 3, d: 4 });
    expect(await lowered('f = ({ ...a }) => ({ ...a });')).not.toContain('__objRest');
  });

  it('leave no rest without one, wherever it is', async () => {
    const bodies = [
      'const { a: { ...rest } } = { a: { n: 1 } }; return rest;',
      'const [{ ...rest }] = [{ n: 1 }]; return rest;',
      'for (const { ...rest } of [{ n: 1 }]) return rest;',
      'try { throw { n: 1 }; } catch ({ ...rest }) { return rest; }',
      'return ((a, { b: { ...rest } }) => rest)(0, { b: { n: 1 } });',
      'return [...(function* ({ ...rest }) { yield rest; })({ n: 1 })][0];',
      'function f({ a, ...rest }) { function a() {} return rest; } return f({ n: 1 });',
      'let rest; [{ ...rest }] = [{ n: 1 }]; return rest;',
      'return (({ a = 1, ...rest }, b) => ({ ...rest, n: a }))({});',
    ];
    for (const body of bodies) {
      const { value, guarded } = await run(body);
      expect(value, body).toEqual({ n: 1 });
      expect(guarded.length, body).toBeGreaterThan(0);
    }
  });

  it('copy as the language says, on the slower way too', async () => {
    const slow = 'const [{ ...unused }] = [{}];';
    const copies = `
      const seen = [];
      const source = { get b() { seen.push('b'); return 1; }, get a() { seen.push('a'); return 2; },
        [Symbol.iterator]: 3, 1: 'one' };
      Object.defineProperty(source, 'hidden', { value: 1, enumerable: false });
      const { a, ...rest } = source;
      const all = { ...'abc', ...[7, , 8], ...null, ...undefined, ...5, ...true, ...source };
      return [seen, Object.keys(rest), Reflect.ownKeys(all).map(String), all[Symbol.iterator]];`;
    const { value } = await run(copies);
    expect((await run(slow + copies)).value).toEqual(value);
    expect(value).toEqual([
      ['a', 'b', 'b', 'a'],
      ['1', 'b'],
      ['0', '1', '2', 'b', 'a', 'Symbol(Symbol.iterator)'],
      3,
    ]);
  });

  it('refuse a program that uses their names', async () => {
    const program = new TextEncoder().encode('const reducerdb$pause = 1; export default 2;');
    await expect(linkProgram(program)).rejects.toThrow(ProgramError);
    await expect(linkProgram(program)).rejects.toThrow('names that begin with reducerdb$');
  });

  it('leave a parameter alone that no rewriting can move', async () => {
    const script = 'f = ({ a = 1, ...rest }, b = a) => [rest, b];';
    expect((await lowerGuards({ script, sourceMap: '' })).script).toBe(script);
  });

  it('change nothing that a function means', async () => {
    const bodies = [
      'const f = ({ ...rest }) => (/* => */ rest); return f({ n: 1 });',
      'const f = ({ ...rest }) => (/* => */\n// =>\n rest); return f({ n: 1 });',
      'const f = ({ /* } */ ...rest }) => rest; return f({ n: 1 });',
      'const f = ({ n, ...rest } = { n: 1, g: () => n }) => ({ n: rest.g() }); return f();',
      'const f = ({ a: { ...rest } }, b = rest) => b; return f({ a: { n: 1 } });',
      'const f = (a = () => rest, { ...rest }) => a(); return f(undefined, { n: 1 });',
      'const [{ ...x }] = [{}], f = ({ a, ...rest }, b = rest) => b; return f({ n: 1 });',
    ];
    for (const body of bodies) {
      expect((await run(body)).value, body).toEqual({ n: 1 });
      expect(new Function(body)(), body).toEqual({ n: 1 });
    }
    // A program with a parameter that cannot be moved still has the other guards.
    const { guarded } = await run(
      'const f = ({ a: { ...b } }, c = b) => c; for (const k in { n: 1 }) f({ a: 2 });',
    );
    expect(guarded).toEqual([{ n: 1 }]);
  });

  it('refuse what nests deeper than a parser can follow', async () => {
    const script = `x = ${'('.repeat(50_000)}1${')'.repeat(50_000)};`;
    await expect(lowerGuards({ script, sourceMap: '' })).rejects.toThrow(ProgramError);
  });

  it('keep the source map true', async () => {
    const text = 'const a = { ...first, ...second }; boom();\nconst b = { ...third }; bang();\n';
    const { script, sourceMap } = await linkProgram(
      new TextEncoder().encode(`export default (first, second, third, boom, bang) => {\n${text}};`),
    );
    const map = readSourceMap(sourceMap);
    const place = (word: string) => {
      const lines = script.split('\n');
      const line = lines.findIndex((each) => each.includes(word));
      const column = (lines[line] ?? '').indexOf(word);
      const { line: at, column: from } = map.originalPosition(line + 1, column + 1) ?? {};
      return [at, from];
    };
    expect(place('second)')).toEqual([2, text.indexOf('second') + 1]);
    expect(place('boom()')).toEqual([2, text.indexOf('boom') + 1]);
    expect(place('bang()')).toEqual([3, text.indexOf('bang') - text.indexOf('\n')]);
  });
});
