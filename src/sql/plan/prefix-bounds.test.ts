import { describe, expect, it } from 'vitest';
import { type LabOptions, QueryLab } from '../../../test/sql/query-lab.ts';
import { optionType } from '../../values/special-types.ts';

const text = { kind: 'string' } as const;

const lab = new QueryLab([
  {
    name: 'word',
    columns: { id: { kind: 'u32' }, text, plain: text, place: text, held: optionType(text) },
    indexes: ['unique:btree:id', 'btree:text', 'btree:place,text', 'btree:held'],
  },
]);

/** Starts of which each has neighbours before and after it, in any order of characters. */
const starts = ['ab', 'a', 'a%', 'a_', 'a\\', 'az', 'é', '\ud7ff', '\u{10ffff}', '\u{1f600}', 'Ab'];
const ends = ['', 'c', '\u0000', 'z', '\uffff', '\u{10ffff}'];
const words = ['', 'b', '\ue000', '\uffff', 'b\u{10ffff}', ...starts].flatMap((start) =>
  ends.map((end) => start + end),
);
lab.insert(
  'word',
  words.map((word, id) => [
    id,
    word,
    word,
    id % 2 === 0 ? 'here' : 'there',
    id % 3 === 0 ? { tag: 1, value: [] } : { tag: 0, value: word },
  ]),
);

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const accessOf = (where: string, parameters: LabOptions['parameters'] = {}): string =>
  (lab.explain(`SELECT id FROM word WHERE ${where}`, { parameters }).split('\n')[1] ?? '').trim();
const ids = (where: string): string =>
  JSON.stringify(lab.rows(`SELECT id FROM word WHERE ${where} ORDER BY id`));

describe('[ease 3.8] the start of a text by an ordered index', () => {
  it.each([
    ["text LIKE 'ab%'"],
    ["text LIKE 'ab%c_'"],
    ["starts_with(text, 'ab')"],
    ["place = 'here' AND text LIKE 'ab%'"],
  ])('%s is a range', (where) => {
    expect(accessOf(where)).toMatch(/^range of word by .*\(/);
  });

  it.each([
    ["text LIKE '%b'"],
    ["text LIKE '_b%'"],
    ["text ILIKE 'ab%'"],
    ["text NOT LIKE 'ab%'"],
    ["starts_with(text, '')"],
    ["starts_with('ab', text)"],
    ["plain LIKE 'ab%'"],
  ])('%s is not', (where) => {
    expect(accessOf(where)).toMatch(/^scan word/);
  });

  it.each([
    ['text LIKE $1'],
    ["text LIKE $1 ESCAPE '!'"],
    ['text LIKE $1 ESCAPE $2'],
    ['starts_with(text, $1)'],
    ["text LIKE $1 || '%'"],
    ["place = 'here' AND text LIKE $1"],
    ['held LIKE $1'],
  ])('%s is a range of what the request brings', (where) => {
    expect(accessOf(where, { 1: '', 2: '' })).toMatch(/^range of word by .*\(/);
  });

  it('a pattern of each row is not', () => {
    expect(accessOf('text LIKE plain')).toMatch(/^scan word/);
    expect(accessOf('text ILIKE $1', { 1: '' })).toMatch(/^scan word/);
  });

  const patterns = [...starts, ...ends].flatMap((start) => {
    const escaped = start.replaceAll(/[\\%_]/g, (it) => `\\${it}`);
    return [`${escaped}%`, escaped, `${escaped}_`, `%${escaped}`, `_${escaped}%`];
  });

  it('finds what a scan finds, whatever the parameter is', () => {
    for (const order of ['id', 'text', 'text DESC']) {
      const rows = (where: string, parameters: LabOptions['parameters'] = {}) =>
        JSON.stringify(
          lab.rows(`SELECT id FROM word WHERE ${where} ORDER BY ${order}`, { parameters }),
        );
      for (const pattern of patterns) {
        const parameters = { 1: pattern, 2: '\\' };
        const expected = rows('plain LIKE $1', parameters);
        expect(rows('text LIKE $1', parameters), pattern).toBe(expected);
        expect(rows('text LIKE $1 ESCAPE $2', parameters), pattern).toBe(expected);
        const held = rows('held.some || $2 LIKE $1 || $2', { 1: pattern, 2: '' });
        expect(rows('held LIKE $1', { 1: pattern }), pattern).toBe(held);
        const starting = rows("starts_with(plain || '', $1)", { 1: pattern });
        expect(rows('starts_with(text, $1)', { 1: pattern }), pattern).toBe(starting);
      }
    }
  });

  it('finds no row by NULL, and refuses what no pattern can be', () => {
    expect(lab.rows('SELECT id FROM word WHERE text LIKE CAST(NULL AS String)')).toEqual([]);
    const escaped = () =>
      lab.rows('SELECT id FROM word WHERE text LIKE $1 ESCAPE $2', {
        parameters: { 1: 'a%', 2: 'ab' },
      });
    expect(escaped).toThrow(/ESCAPE|escape/);
  });

  it.each(starts)('%s finds what a scan finds', (start) => {
    const escaped = start.replaceAll(/[\\%_]/g, (it) => `\\${it}`);
    for (const test of [
      (column: string) => `${column} LIKE ${quoted(`${escaped}%`)}`,
      (column: string) => `${column} LIKE ${quoted(escaped)}`,
      (column: string) => `${column} LIKE ${quoted(`${start}%`)} ESCAPE ''`,
      (column: string) => `${column} LIKE ${quoted(`${escaped}_`)} AND ${column} > 'a'`,
      (column: string) => `starts_with(${column}, ${quoted(start)})`,
    ]) {
      expect(accessOf(test('text'))).toMatch(/^(?:range|scan)/);
      expect(ids(test('text')), test('text')).toBe(ids(test('plain')));
    }
    expect(ids(`starts_with(text, ${quoted(start)})`)).toBe(
      JSON.stringify(words.flatMap((word, id) => (word.startsWith(start) ? [[id]] : []))),
    );
  });
});
