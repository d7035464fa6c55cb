import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';

const text = { kind: 'string' } as const;

const lab = new QueryLab([
  {
    name: 'word',
    columns: { id: { kind: 'u32' }, text, plain: text, place: text },
    indexes: ['unique:btree:id', 'btree:text', 'btree:place,text'],
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
  words.map((word, id) => [id, word, word, id % 2 === 0 ? 'here' : 'there']),
);

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const accessOf = (where: string): string =>
  (lab.explain(`SELECT id FROM word WHERE ${where}`).split('\n')[1] ?? '').trim();
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
