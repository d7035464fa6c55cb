import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { ProgramError } from '../module/runner.ts';
import { checkNesting } from './check-nesting.ts';

const max = limits.programNestingMax;

function fault(text: string): string | undefined {
  try {
    checkNesting(text);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ProgramError);
    return (error as Error).message;
  }
}

describe('the nesting of a program', () => {
  const pairs: readonly [string, string][] = [
    ['(', ')'],
    ['[', ']'],
    ['{', '}'],
    ['x = {a:', '}'],
    ['f(', ')'],
    ['`$' + '{', '}`'],
  ];
  for (const [open, close] of pairs) {
    it(`has a limit that is met exactly: ${open} ${close}`, () => {
      expect(fault(open.repeat(max) + close.repeat(max))).toBe(undefined);
      expect(fault(open.repeat(max + 1) + close.repeat(max + 1))).toContain('brackets');
      expect(fault(`${open}${close}`.repeat(3 * max))).toBe(undefined);
    });
  }

  it('names line and column of the bracket that is one too many, and what to do', () => {
    const text = `let a = 1;\nlet b =\n  ${'('.repeat(max)}[1]`;
    expect(fault(text)).toBe(
      `module.js:3:${max + 3}: more than ${max} brackets are nested here; ` +
        'split the expression, or build the value in steps',
    );
  });

  const harmless: Readonly<Record<string, string>> = {
    'a string': '"((((["',
    'a string with a quote in it': `'\\'(((['`,
    'a string that goes on with a backslash': '"((\\\n(("',
    'a line comment': '// ((([\n',
    'a comment': '/* ((([ \n ((( */',
    'a template': '`((([ $ { \\` \\$' + '{`',
    'a template in a template': '`($' + '{`($' + '{1}(`}(`',
    'a pattern': 'x = /[(]\\((\\[/;',
    'a pattern behind a head': 'if (a(b)) /[/(]/.test(c);',
    'a pattern behind a word': 'return /((/;',
    'a pattern behind a block': '{}\n/((/.test(a);',
    'a quote in a pattern': `x = /['"\`]/;`,
    'a bracket that a wrong guess opened': '{ a = b / c; d = {} / (e; }',
  };
  for (const [name, text] of Object.entries(harmless)) {
    it(`is not deepened by ${name}`, () => {
      expect(fault(`${text}\n`.repeat(3 * max))).toBe(undefined);
    });
  }

  it('is seen behind divisions, members named like keywords, and strings that do not end', () => {
    const deep = '('.repeat(max + 1);
    for (const before of [
      'a / b;',
      'a.return / b;',
      'a[0] / b;',
      'a++ / b;',
      '1./2;',
      '"x\n',
      'f(a) / b;',
    ]) {
      expect(fault(`${before}${deep}`), before).toContain('brackets');
      expect(fault(`${before}${deep} / 2`), before).toContain('brackets');
    }
  });

  it('costs one pass, whatever the text', { timeout: 60_000 }, () => {
    const length = 4_000_000;
    const texts = ['/[', '}/[', ')', ']', '}', '`$' + '{}`', '`', '"', '/*', '\\', '{/', '([)'];
    for (const text of texts) {
      const started = performance.now();
      fault(text.repeat(length / text.length));
      // A second pass for each character would take hours.
      expect(performance.now() - started, text).toBeLessThan(20_000);
    }
  });
});
