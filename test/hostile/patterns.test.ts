import { describe, expect, it } from 'vitest';
import { loadProgram, rawProgram, runRaw } from '../support/module-under-test.ts';

/**
 * The engine ends the process when translating a pattern runs out of stack; a failure of these
 * tests is a crash of the test run.
 */
const dive = `
let made = 0;
const dive = (use, size) => {
  const locals = Array.from({ length: size }, (_, i) => 'let v' + i + ' = n + ' + i + ';').join('');
  const sum = ['0', ...Array.from({ length: size }, (_, i) => 'v' + i)].join('+');
  const run = new Function('run', 'use', 'n', locals + 'try { run(run, use, n + 1) } catch (error) {' +
    'try { use(n) } catch {} if (n % 500 !== 0) throw error } return ' + sum);
  try { run(run, use, 1); } catch {}
};
const diveAll = (use) => { for (let size = 0; size < 12; size += 1) dive(use, size); };
`;

const uses: Readonly<Record<string, string>> = {
  exec: 'pattern.exec("ab")',
  test: 'pattern.test("ab")',
  match: '"ab".match(pattern)',
  'match of a text': '"ab".match(text)',
  matchAll: '[..."ab".matchAll(new RegExp(text, "g"))]',
  replace: '"ab".replace(pattern, "x")',
  replaceAll: '"ab".replaceAll(new RegExp(text, "g"), () => "x")',
  search: '"ab".search(pattern)',
  'search of a text': '"ab".search(text)',
  split: '"ab".split(pattern)',
  'two bytes': '(pattern.exec("ab"), pattern.exec("ab\\u1234"), pattern.exec("ab"))',
  eval: 'eval("/" + text + "/.test(\'ab\')")',
  'hidden exec': 'RegExp.prototype.test.call(hide(pattern), "ab")',
  'hidden exec in replace': '"ab".replace(hide(pattern), "x")',
  'hidden exec in split': '"ab".split(hide(pattern))',
  'exec that goes away': `"ab".replace(Object.defineProperty(pattern, 'flags', { get() {
      hide(pattern); return ''; } }), 'x')`,
  'species in split': `RegExp.prototype[Symbol.split].call({ flags: '', constructor: {
      [Symbol.species]: function () { return hide(pattern); } } }, 'ab')`,
  'species of a pattern': `"ab".split(Object.defineProperty(new RegExp('b'), 'constructor', { value: {
      [Symbol.species]: function () { return hide(pattern); } } }))`,
  'species in matchAll': `[..."ab".matchAll(Object.defineProperty(new RegExp('b', 'g'), 'constructor',
      { value: { [Symbol.species]: function () { return hide(pattern); } } }))]`,
  subclass: 'new (class extends RegExp { get exec() { return undefined; } })(text).test("ab")',
  proxy: 'new Proxy(pattern, {}).test("ab")',
};

const shapes: Readonly<Record<string, string>> = {
  small: "'(a|b)*c' + made",
  'nested groups': "'('.repeat(90) + made + ')'.repeat(90)",
  'nested look-ahead': "'(?=a'.repeat(90) + made + ')'.repeat(90)",
  'nested look-behind': "'(?<=a'.repeat(90) + made + ')'.repeat(90)",
  sequence: "'(a)'.repeat(500) + made",
  alternatives: "'a|'.repeat(500) + made",
};

describe('a pattern used with a full stack', () => {
  for (const [name, use] of Object.entries(uses)) {
    it(`does not end the process: ${name}`, async () => {
      const body = `
        const hide = (pattern) => Object.defineProperty(pattern, 'exec', { value: undefined });
        diveAll(() => { made += 1; const text = '(a|b)*c' + made;
          const pattern = new RegExp(text); ${use}; });
        console.log(made > 100);`;
      const { outcome, messages } = await runRaw(body, dive);
      expect(outcome.kind).toBe('returned');
      expect(messages).toEqual(['true']);
    });
  }

  for (const [name, text] of Object.entries(shapes)) {
    it(`does not end the process: ${name}`, async () => {
      const { outcome, messages } = await runRaw(
        `diveAll(() => { made += 1; new RegExp(${text}).exec('ab'); }); console.log(made > 100);`,
        dive,
      );
      expect(outcome.kind).toBe('returned');
      expect(messages).toEqual(['true']);
    });
  }
});

describe('a pattern', () => {
  it('that is nested without bounds is refused', async () => {
    const { messages } = await runRaw(
      `const attempt = (run) => { try { console.log('fine', run()); } catch (error) {
         console.log(error.name, error.message); } };
       const deep = '(?:'.repeat(1e5) + 'a' + ')*'.repeat(1e5);
       attempt(() => new RegExp(deep).exec(''));
       attempt(() => ''.match(deep));
       attempt(() => new RegExp('('.repeat(100) + ')'.repeat(100)).test('').toString());
       attempt(() => /[((((((((((]\\(\\(\\(/.test('x'));`,
    );
    expect(messages).toEqual([
      'SyntaxError Invalid regular expression: nested deeper than 100',
      'SyntaxError Invalid regular expression: nested deeper than 100',
      'fine true',
      'fine false',
    ]);
  });

  it('works as the language says', async () => {
    const { call, logs } = await loadProgram(
      rawProgram(`
        const sticky = /b/y; sticky.lastIndex = 1;
        const global = /a(.)/g;
        const results = [
          'abac'.replace(/a(.)/g, '[$1$&]'), 'abac'.replace(/a(?<x>.)/, (...m) => m.at(-1).x),
          'a,b;c'.split(/[,;]/), 'a1b2'.split(/(\\d)/), 'abab'.match(/b/g), 'ab'.match(/(b)/).index,
          'xay'.search(/a/), [...'a1a2'.matchAll(/a(\\d)/g)].map((m) => m[1]),
          sticky.test('ab'), sticky.lastIndex, sticky.test('ab'), sticky.lastIndex,
          global.exec('abac')[1], global.lastIndex, global.exec('abac')[1], global.exec('abac'),
          /(?<year>\\d{4})/u.exec('in 1999').groups.year, /\\p{L}+/v.exec('12éa')[0],
          'aXbX'.replaceAll('X', '-'), /a/d.exec('ba').indices[0], /A/i.test('a'), '' + /a\\/b/gi,
          RegExp.prototype.exec.name, RegExp.prototype[Symbol.replace].length,
          'a'.replace(/b/, 'x'), 'abc'.split(/(?:)/u, 2), /a/.test(), (() => {
            try { RegExp.prototype.exec.call({}, 'x'); } catch (error) { return error.name; } })(),
        ];
        console.log(JSON.stringify(results));`),
    );
    expect(call(0)).toEqual({ kind: 'returned' });
    expect(JSON.parse(logs[0]?.message ?? '')).toEqual([
      '[bab][cac]',
      'bac',
      ['a', 'b', 'c'],
      ['a', '1', 'b', '2', ''],
      ['b', 'b'],
      1,
      1,
      ['1', '2'],
      true,
      2,
      false,
      0,
      'b',
      2,
      'c',
      null,
      '1999',
      'éa',
      'a-b-',
      [1, 2],
      true,
      '/a\\/b/gi',
      'exec',
      2,
      'a',
      ['a', 'b'],
      false,
      'TypeError',
    ]);
  });
});
