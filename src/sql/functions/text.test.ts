import { describe, expect, it } from 'vitest';
import { callFunction as call, resultType, typed } from '../../../test/sql/call-function.ts';
import { cpuMillis } from '../../../test/support/cpu-millis.ts';
import { limits } from '../../limits.ts';
import { bytesType } from '../../values/special-types.ts';
import { SqlFailure } from '../failure.ts';
import type { QueryValue } from './function.ts';
import { findFunction, functionNames } from './library.ts';
import { scalarTypes } from './value-kind.ts';

type Case = readonly [name: string, args: readonly (string | bigint | null)[], result: QueryValue];

const cases: readonly Case[] = [
  ['lower', ['ÀB'], 'àb'],
  ['upper', ['straße'], 'STRASSE'],
  ['initcap', ['hello WORLD, o neill-2b'], 'Hello World, O Neill-2b'],
  ['reverse', ['a😀é'], 'é😀a'],
  ['length', ['a😀é'], 3n],
  ['length', [''], 0n],
  ['char_length', ['😀😀'], 2n],
  ['character_length', ['abc'], 3n],
  ['octet_length', ['a😀é'], 7n],
  ['substring', ['hello', 2n], 'ello'],
  ['substring', ['hello', 2n, 3n], 'ell'],
  ['substring', ['hello', 0n, 3n], 'he'],
  ['substring', ['hello', -5n, 8n], 'he'],
  ['substring', ['hello', 9n, 2n], ''],
  ['substring', ['a😀b', 2n, 1n], '😀'],
  ['substring', ['hello', 2n, 9_000_000_000_000_000_000n], 'ello'],
  ['substr', ['hello', 4n], 'lo'],
  ['left', ['hello', 2n], 'he'],
  ['left', ['hello', -2n], 'hel'],
  ['left', ['hello', -9n], ''],
  ['left', ['😀ab', 2n], '😀a'],
  ['right', ['hello', 2n], 'lo'],
  ['right', ['hello', -2n], 'llo'],
  ['right', ['hello', 9n], 'hello'],
  ['right', ['hello', 0n], ''],
  ['btrim', ['  x '], 'x'],
  ['trim', ['xyaxy', 'yx'], 'a'],
  ['ltrim', ['xxax', 'x'], 'ax'],
  ['rtrim', ['xxax', 'x'], 'xxa'],
  ['btrim', ['aaa', 'a'], ''],
  ['btrim', ['\tx\t'], '\tx\t'],
  ['lpad', ['7', 3n, '0'], '007'],
  ['lpad', ['7', 3n], '  7'],
  ['rpad', ['ab', 5n, 'xy'], 'abxyx'],
  ['lpad', ['abc', 2n], 'ab'],
  ['lpad', ['a', -1n], ''],
  ['lpad', ['a', 3n, ''], 'a'],
  ['rpad', ['😀', 2n, '😀'], '😀😀'],
  ['repeat', ['ab', 3n], 'ababab'],
  ['repeat', ['ab', 0n], ''],
  ['repeat', ['', 9_000_000_000_000n], ''],
  ['replace', ['a.b.c', '.', '--'], 'a--b--c'],
  ['replace', ['abc', '', 'x'], 'abc'],
  ['replace', ['aaa', 'aa', 'b'], 'ba'],
  ['concat', ['a', null, 'b'], 'ab'],
  ['concat', [null], ''],
  ['concat_ws', [', ', 'a', null, 'b'], 'a, b'],
  ['concat_ws', [null, 'a'], null],
  ['strpos', ['hello', 'l'], 3n],
  ['strpos', ['😀hello', 'l'], 4n],
  ['position', ['hello', 'x'], 0n],
  ['instr', ['hello', ''], 1n],
  ['starts_with', ['hello', 'he'], true],
  ['ends_with', ['hello', 'he'], false],
  ['contains', ['hello', 'ell'], true],
  ['split_part', ['a,b,c', ',', 2n], 'b'],
  ['split_part', ['a,b,c', ',', -1n], 'c'],
  ['split_part', ['a,b,c', ',', 9n], ''],
  ['split_part', ['a,b,c', ',', -9_000_000_000_000n], ''],
  ['split_part', ['abc', '', 1n], 'abc'],
  ['ascii', ['😀'], 0x1f600],
  ['ascii', [''], 0],
  ['chr', [233n], 'é'],
  ['translate', ['12345', '143', 'ax'], 'a2x5'],
];

describe('text functions', () => {
  it.each(cases)('%s(%o)', (name, args, result) => {
    expect(call(name, ...args)).toBe(result);
  });

  it('every strict one is null for null', () => {
    expect(call('lower', null)).toBe(null);
    expect(call('substring', 'abc', null)).toBe(null);
    expect(call('lpad', 'abc', 5n, null)).toBe(null);
  });

  it('arguments without a value are errors', () => {
    expect(() => call('substring', 'abc', 1n, -1n)).toThrow('the count must not be negative');
    expect(() => call('split_part', 'abc', ',', 0n)).toThrow('parts are counted from 1');
    expect(() => call('chr', 0xd800n)).toThrow('55296 is not a Unicode character');
    expect(() => call('chr', -1n)).toThrow(SqlFailure);
  });

  it('no function makes a text without bound', () => {
    const most = BigInt(limits.sqlTextCharactersMax);
    expect(() => call('repeat', 'ab', most)).toThrow('A function cannot return a text of ');
    expect(() => call('lpad', 'ab', most + 1n)).toThrow('A function cannot return a text of ');
    const long = 'x'.repeat(10_000);
    expect(() => call('concat', ...Array.from({ length: 5_000 }, () => long))).toThrow(
      'cannot return a text',
    );
    expect(() => call('replace', long, 'x', long)).toThrow('A function cannot return a text of ');
  });

  it('texts that make a plain search slow take no time', () => {
    const text = 'a'.repeat(800_000);
    const part = `b${'a'.repeat(200_000)}`;
    const begin = cpuMillis();
    expect(call('contains', text, part)).toBe(false);
    expect(call('strpos', `${text}${part}`, part)).toBe(800_001n);
    expect(call('replace', text, part, 'x')).toBe(text);
    expect(call('split_part', `${text}${part}c`, part, 2n)).toBe('c');
    expect(cpuMillis() - begin).toBeLessThan(1_000);
  });

  it('long texts are taken apart without cutting characters', () => {
    const text = `a${'😀'.repeat(5_000)}b`;
    expect(call('reverse', text)).toBe(`b${'😀'.repeat(5_000)}a`);
    expect(call('translate', text, '😀b', 'xy')).toBe(`a${'x'.repeat(5_000)}y`);
    expect(call('btrim', text, 'ab')).toBe('😀'.repeat(5_000));
    expect(call('rtrim', text, 'b😀')).toBe('a');
  });

  it('concat takes any types, length also bytes', () => {
    const number = typed(scalarTypes.u32, 7);
    expect(call('concat', number, '-', typed(scalarTypes.f64, 1.5), true)).toBe('7-1.5true');
    const bytes = typed(bytesType, Uint8Array.of(2, 0, 0, 0, 9, 9));
    expect(call('length', bytes)).toBe(2n);
    expect(call('octet_length', bytes)).toBe(2n);
  });
});

describe('library', () => {
  it('finds names in letters of any case and knows them all', () => {
    expect(findFunction('LoWeR')?.name).toBe('lower');
    expect(findFunction('nothing')).toBe(undefined);
    const names = functionNames();
    expect(names).toEqual([...names].sort());
    for (const name of names) {
      expect(findFunction(name)?.signatures.length).toBeGreaterThan(0);
      expect(findFunction(name)?.name).toBe(name);
    }
  });

  it('refuses what no overload takes', () => {
    const { string, u32 } = scalarTypes;
    expect(resultType('lower', u32)).toBe('none');
    expect(resultType('lower')).toBe('none');
    expect(resultType('lower', string, string)).toBe('none');
    expect(resultType('lower', undefined)).toBe('String');
    expect(resultType('substring', string, u32)).toBe('String');
  });
});
