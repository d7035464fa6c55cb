import { type AnyNode, parse } from 'acorn';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findChildren } from './syntax-children.ts';
import { isSurelyTame } from './tame-text.ts';

const space = ['', ' ', '\n', '/* */', ' // x\n', '\n--> x\n', '<!-- x\n', '\u00a0'];

describe('a text is surely tame', () => {
  it('if the words are in texts, in longer names, or name a property', () => {
    const tame = [
      'x = "use `import * as a from `";',
      'x = { importMax: 1, reimport: 2, $import: 3, import: 4 };',
      'x = "an async or blocking operation"; y[Symbol.asyncIterator] = 1;',
      'x = { async: 1, b: async, c: async ? 1 : 2 }; async.d; isAsync(1); async; f(async);',
      "throw new Error('functions that are async are not allowed: import them');",
    ];
    for (const text of tame) expect(isSurelyTame(text), text).toBe(true);
  });

  it('never if a method is named by a number', () => {
    for (const name of ['1', '1.5', '.5', '1e+5', '0x1f', '1_0']) {
      expect(isSurelyTame(`({ async ${name}() {} })`), name).toBe(false);
    }
  });

  it('in a time that grows with its length, whatever it consists of', () => {
    for (const between of [' '.repeat(1_000_000), ' a'.repeat(500_000), '\n'.repeat(1_000_000)]) {
      expect(isSurelyTame(`x = "async${between}, ";`)).toBe(true);
    }
    expect(isSurelyTame(`x = "async ${'a'.repeat(1_000_000)}${' '.repeat(1_000_000)}, ";`)).toBe(
      true,
    );
  });

  it('never if one of them may be more than that', () => {
    for (const between of space) {
      const wild = [
        'import@("x")',
        'import@.meta',
        'a +import@(x)',
        'async@(a) => 1',
        'async@[a](){}',
      ];
      const methods = ['async@*a(){}', 'async@#a(){}', "async@'a'(){}", 'async@"a"(){}', 'async@`'];
      for (const form of [...wild, ...methods]) {
        expect(isSurelyTame(form.replace('@', between)), form + between).toBe(false);
      }
      if (between === '') continue;
      const named = [
        'async@function () {}',
        'async@function a() {}',
        'async@a => 1',
        'async@a(){}',
      ];
      const rare = [
        'async@\u00e9 => 1',
        'async@a\u00e9 => 1',
        'async@\\u0061 => 1',
        'async@a\\u0061(){}',
      ];
      for (const form of [...named, ...rare]) {
        expect(isSurelyTame(form.replace('@', between)), form + between).toBe(false);
      }
      expect(isSurelyTame(`async a${between}=> 1`), between).toBe(false);
      expect(isSurelyTame(`({ async a${between}() {} })`), between).toBe(false);
    }
  });

  it('only if a parser finds nothing in it either, for generated texts', () => {
    const words = [
      'import',
      'async',
      'function',
      'a',
      '$',
      '(',
      ')',
      '{',
      '}',
      '=>',
      '.',
      ',',
      ';',
    ];
    const signs = [
      ' ',
      '\n',
      '*',
      '[',
      ']',
      '#a',
      "'a'",
      '=',
      ':',
      '/**/',
      'class A',
      '`',
      '?',
      '1',
    ];
    const text = fc
      .array(fc.constantFrom(...words, ...signs), { maxLength: 24 })
      .map((parts) => parts.join(''));
    const around = (inner: string) => [inner, `({${inner}})`, `class A{${inner}}`, `x = ${inner}`];
    let parsed = 0;
    fc.assert(
      fc.property(text, (inner) => {
        for (const script of around(inner)) {
          const program = parsedOrNothing(script);
          if (program === undefined) continue;
          parsed += 1;
          if (isSurelyTame(script)) expect(isTame(program), script).toBe(true);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(parsed).toBeGreaterThan(100);
  });
});

function parsedOrNothing(script: string): AnyNode | undefined {
  try {
    return parse(script, { ecmaVersion: 'latest', sourceType: 'script' });
  } catch {
    return undefined;
  }
}

function isTame(program: AnyNode): boolean {
  const pending = [program];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'ImportExpression' || ('async' in node && node.async)) return false;
    pending.push(...findChildren(node));
  }
  return true;
}
