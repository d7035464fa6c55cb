import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lowerGuards } from './lower-guards.ts';
import { readInPieces } from './script-pieces.ts';

const lowered = async (script: string) => (await lowerGuards({ script, sourceMap: '' })).script;

/** What makes a text one piece: no line begins at the margin. It is in no template. */
const indented = (script: string) => script.replaceAll(/^(?=[a-z])/gm, ' ');
/** The guards but the pauses, with what they stand before. */
const guards = (script: string) => script.match(/reducerdb\$(?:keys|few|items|rest).{2}/g) ?? [];

const texts = (script: string, read: (text: string) => boolean) => {
  return readInPieces(script, (text) => (read(text) ? text : undefined));
};

describe('a script in pieces', () => {
  it('is cut where statements begin as the bundler prints them', () => {
    const script = 'var a = 1;\nfunction b() {\n  c;\n}\n\nd();\n  e();\n}\nf';
    const pieces = ['var a = 1;\n', 'function b() {\n  c;\n}\n\nd();\n  e();\n}\n', 'f'];
    expect(texts(script, () => true)).toEqual(pieces);
    expect(texts('', () => true)).toEqual(['']);
  });

  it('reads a piece that does not stand alone with those that follow', () => {
    const lines = Array.from({ length: 12 }, (_, at) => `line${at};\n`);
    const script = lines.join('');
    const long = (text: string) => text.split('\n').length > 4;
    expect(texts(script, long)).toEqual([0, 4, 8].map((at) => lines.slice(at, at + 4).join('')));
    expect(texts(script, () => false)).toBeUndefined();
  });

  it('has the guards that it has as a whole', async () => {
    const statements = [
      'f(...a);',
      'var a = { ...b };',
      'function g(c) {\n  for (const d in c) h(...d);\n}',
      'function g({ e, ...c }) {\n  return c;\n}',
      'var h = class {\n  i = { ...j };\n};',
      'class K {\n}',
      'if (a) b(...c);',
      'if (a) {\n}\nelse f(...c);',
      'try {\n}\ncatch (a) {\n}',
      'do a(...b);\nwhile (c);',
      'for (var k in l) {\n}',
      'label: for (;;) {\n}',
      // These go on in what follows, or are not over where a line begins.
      'x = function () {\n}',
      'x = {\n}\ninstanceof Y;',
      'a = b\n/f(...c)/g;',
      'return1 = /[`;]\\/`/;',
      '// `\n',
      '/*\nvar a = `;\nf */',
      'var [{ ...m }] = [n];',
      'let { o, ...p } = q;',
    ];
    const scripts = fc.uniqueArray(fc.constantFrom(...statements), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(scripts, async (parts) => {
        const script = parts.join('\n');
        const inPieces = await lowered(script).catch(() => 'refused');
        const whole = await lowered(indented(script)).catch(() => 'refused');
        expect(inPieces === 'refused', script).toBe(whole === 'refused');
        expect(guards(inPieces), script).toEqual(guards(whole));
      }),
      { numRuns: 400 },
    );
  });

  it('is whole where a template has lines like statements', async () => {
    const before = 'var a = `\nf(...b);\nfunction c() {\n}\n`;\n';
    const later = (value: string) => `f(...${value});\nd(\`;\n\${f(...${value})};\ne\`);\n`;
    expect(await lowered(before + later('b'))).toBe(before + later('reducerdb$items(b)'));
  });

  it('is paused where its pieces together are a long stretch', async () => {
    const script = 'x = a + b;\n'.repeat(64);
    const result = await lowered(script);
    const stretches = result.split('reducerdb$pause();').map((text) => text.split('+').length - 1);
    expect(Math.max(...stretches)).toBeLessThan(16);
    expect(stretches.length).toBe(5);
    const functions = 'function f(a, b) {\n  return a + b;\n}\n'.repeat(64);
    expect(await lowered(functions)).toBe(functions);
  });

  it('gets the same guards when its pieces are known', async () => {
    const script = `known${Math.random().toString(36).slice(2)}(...a);\nfor (b in c) d();\n`;
    const first = await lowered(script);
    expect(await lowered(script)).toBe(first);
    const moved = await lowered(`first(...a);\n${script}last();\n`);
    expect(moved).toBe(`first(...reducerdb$items(a));\n${first}last();\n`);
  });
});
