import { describe, expect, it } from 'vitest';
import { keyMark, literalTextOf } from './literal-text.ts';

const shown = (sql: string) => {
  const found = literalTextOf(sql);
  return found && [found.key.replaceAll(keyMark, '?'), ...found.literals.map(({ text }) => text)];
};

describe('[ease 3.8] the literals of a text', () => {
  it('are strings and numbers, with their signs left in the key', () => {
    expect(shown("SELECT * FROM t WHERE a = 5 AND b=-1.5e3 AND c <> 'it''s'")).toEqual([
      'SELECT * FROM t WHERE a = ?n AND b=-?n AND c <> ?s',
      '5',
      '1.5e3',
      "it's",
    ]);
    expect(shown('SELECT .5, 5., $1, a1, "b2", t3.c4')?.slice(1)).toEqual(['.5', '5.']);
  });

  it('have the same key whatever they are', () => {
    const key = (sql: string) => literalTextOf(sql)?.key;
    expect(key("SELECT a FROM t WHERE b = 'x' LIMIT 1")).toBe(
      key("SELECT a FROM t WHERE b = '--''/*' LIMIT 23"),
    );
    expect(key("SELECT a FROM t WHERE b = '1'")).not.toBe(key('SELECT a FROM t WHERE b = 1'));
    expect(key('SELECT a FROM t WHERE b = -1')).not.toBe(key('SELECT a FROM t WHERE b = 1'));
  });

  it.each([
    'SELECT 1 -- one',
    'SELECT 1 /* one */',
    "SELECT X'ab', 1",
    'SELECT 0xab, 1',
    'SELECT 1e, 2',
    'SELECT 5L',
    'SELECT ? + 1',
    'SELECT $$a$$, 1',
    "SELECT 'open",
    'SELECT "open, 1',
    'SELECT é, 1',
    `SELECT '${keyMark}n'`,
    `SELECT ${keyMark}n, 1`,
    'SELECT a FROM t',
    '',
  ])('are not looked for in %s', (sql) => {
    expect(literalTextOf(sql)).toBeUndefined();
  });
});
