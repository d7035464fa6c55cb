import { describe, expect, it } from 'vitest';
import { callFunction as call, resultType } from '../../../test/sql/call-function.ts';
import { cpuMillis } from '../../../test/support/cpu-millis.ts';
import { SqlFailure } from '../failure.ts';
import type { QueryValue } from './function.ts';
import { scalarTypes } from './value-kind.ts';

type Case = readonly [name: string, args: readonly (string | null)[], result: QueryValue];

const cases: readonly Case[] = [
  ['search', ['The red fox', 'fox red'], true],
  ['search', ['The red fox', '"fox red"'], false],
  ['search', ['The red fox', 'foxes'], false],
  ['search', ['The red fox', 'foxes', 'english'], true],
  ['search', ['The red fox', 'fo* NOT cat'], true],
  ['search', ['The red fox', 'cat OR (fox -red)'], false],
  ['search', ['', 'fox'], false],
  ['search', ['fox', ''], false],
  ['search', [null, 'fox'], null],
  ['search', ['fox', null], null],
  ['highlight', ['The red fox', 'fox'], 'The red **fox**'],
  ['highlight', ['A fox & foxes', 'fox', '<b>', '</b>', 'english'], 'A <b>fox</b> & <b>foxes</b>'],
  ['highlight', ['A fox', 'cat', '[', ']'], 'A fox'],
  ['highlight', ['', 'cat'], ''],
  ['highlight', ['A fox', 'fox', null, ']'], null],
];

describe('[ease 3.11] functions of full-text search', () => {
  it.each(cases)('%s %j is %j', (name, args, result) => {
    expect(call(name, ...args)).toEqual(result);
  });

  it('have types', () => {
    const { string, bool } = scalarTypes;
    expect(resultType('search', string, string)).toBe('Bool');
    expect(resultType('search', string, undefined, undefined)).toBe('Bool');
    expect(resultType('search', bool, string)).toBe('none');
    expect(resultType('highlight', string, string)).toBe('String');
    expect(resultType('highlight', string, string, string)).toBe('none');
  });

  it('refuse unknown languages, and queries beyond their bounds', () => {
    expect(() => call('search', 'a', 'a', 'klingon')).toThrow(
      "There is no language 'klingon' of search; use one of 'simple', 'english', 'german',",
    );
    expect(() => call('search', 'a', '('.repeat(50).concat('a'))).toThrow(SqlFailure);
    expect(() => call('highlight', 'a', 'a'.repeat(5_000))).toThrow(/more than 4096 characters/);
  });

  it('do not make a text that is too long', () => {
    const long = 'x'.repeat(100_000);
    expect(() => call('highlight', 'a '.repeat(1_000), 'a', long, long)).toThrow(/at most/);
  });

  it('take time in proportion to the text', () => {
    const text = 'a b '.repeat(100_000);
    const start = cpuMillis();
    expect(call('search', text, '"b b" OR "a a" OR "a b c"')).toBe(false);
    expect(call('search', text, '"a b a b a b c" OR a*')).toBe(true);
    expect(cpuMillis() - start).toBeLessThan(5_000);
  });

  it('answer for many queries by turns', () => {
    for (let round = 0; round < 3; round++) {
      for (let word = 0; word < 40; word++) {
        expect(call('search', `w${word} x`, `w${word}`)).toBe(true);
        expect(call('search', `w${word} x`, `w${word + 1}`)).toBe(false);
      }
    }
  });
});
