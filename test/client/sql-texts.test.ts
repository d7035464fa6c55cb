import { describe, expect, it } from 'vitest';
import type { QueryRoots } from '../../src/client/index.ts';
import { toSql } from '../../src/client/index.ts';
import { parseOneTable } from '../../src/client/one-table-query.ts';
import { rootsOf } from '../../src/client/query-roots.ts';
import { type SqlParameters, withParameters } from '../../src/client/sql-parameters.ts';
import { ConnectionId } from '../../src/values/connection-id.ts';
import { Identity } from '../../src/values/identity.ts';
import { Timestamp } from '../../src/values/timestamp.ts';
import { Uuid } from '../../src/values/uuid.ts';
import { hero, shout, tavernSchema } from './rig.ts';
import type * as tavern from './tavern.ts';

function written(text: string, params: SqlParameters): string {
  return withParameters([text], params)[0] ?? '';
}

describe('parameters of SQL texts', () => {
  it.each<[SqlParameters[string], string]>([
    ["it's", "'it''s'"],
    ['', "''"],
    [5, '5'],
    [1e21, '1e+21'],
    [-2.5, ' -2.5'],
    [18_446_744_073_709_551_615n, '18446744073709551615'],
    [true, 'TRUE'],
    [null, 'NULL'],
    [new Uint8Array([0, 171, 18]), "X'00ab12'"],
    [new Identity(10n), `0x${'0'.repeat(63)}a`],
    [new ConnectionId(10n), `0x${'0'.repeat(31)}a`],
    [new Timestamp(1_000_001n), "'1970-01-01T00:00:01.000001Z'"],
    [Uuid.parse('018867c5-d400-7321-8a9b-0c1d2e3f4051'), '0x018867c5d40073218a9b0c1d2e3f4051'],
  ])('[client-sdk 16] %s is written as a literal', (value, literal) => {
    expect(written('a = :x', { x: value })).toBe(`a = ${literal}`);
  });

  it('[client-sdk 16] stand where a value may stand, and nowhere else', () => {
    const text =
      `SELECT ':a', "b:a" FROM t -- it's :a\n/* :a /* ' :a */ :a */ ` +
      `WHERE x=:a AND y >:ab AND z = :a AND c::a = 1 AND who = :sender AND d=4-:n`;
    expect(written(text, { a: 1, ab: 2, n: -3 })).toBe(
      `SELECT ':a', "b:a" FROM t -- it's :a\n/* :a /* ' :a */ :a */ ` +
        `WHERE x=1 AND y >2 AND z = 1 AND c::a = 1 AND who = :sender AND d=4- -3`,
    );
  });

  it('[client-sdk 16] are refused when they are missing, unused or no values', () => {
    const wrong = (params: object) => () => written('a = :x', params as SqlParameters);
    expect(wrong({})).toThrow('the query needs a parameter `x`');
    expect(wrong({ x: undefined })).toThrow('the query needs a parameter `x`');
    expect(wrong({ x: 1, y: 2, z: 3 })).toThrow('no `:y`, `:z`');
    expect(wrong({ x: 1, sender: 2 })).toThrow('`:sender` is the caller');
    expect(wrong({ x: Number.NaN })).toThrow('parameter `x`: SQL has no literal for such a value');
    expect(wrong({ x: { tag: 'Calm' } })).toThrow('parameter `x`: SQL has no literal');
    expect(() => written('a = :toString', {})).toThrow('needs a parameter `toString`');
  });
});

const me = new Identity(1n);

function holds(sql: string, row: object): boolean | undefined {
  return parseOneTable(sql, tavernSchema, me)?.holds(row as never);
}

describe('the condition of a query of one table', () => {
  const q = rootsOf(tavernSchema) as QueryRoots<typeof tavern>;

  it('[client-sdk 15] is understood as it is built', () => {
    const query = q.hero.where((h) => h.id.gte(2).and(h.nick.ne("it's").or(h.owner.eq(me)).not()));
    const of = (id: number, nick: string) => holds(toSql(query), hero(id, { nick }));
    expect([of(2, "it's"), of(2, 'x'), of(1, "it's")]).toEqual([true, false, false]);
    const late = q.shout.where((s) => s.sentAt.gt(new Timestamp(1_500_000n)));
    expect([1, 2].map((at) => holds(toSql(late), shout('a', at * 1_000_000)))).toEqual([
      false,
      true,
    ]);
  });

  it.each([
    ['select * from hero', true],
    ['SELECT hero.* FROM hero WHERE id = 1;', true],
    ['SELECT hero.* FROM hero WHERE hero.id = 1', true],
    ["SELECT * FROM hero WHERE NOT id <> 1 AND nick = 'hero 1'", true],
    ['SELECT * FROM hero WHERE id > 1 OR (id < 1 OR id != 5)', true],
    ['SELECT * FROM hero WHERE owner = :sender AND id <= 1', true],
    [`SELECT * FROM hero WHERE owner = 0x${'0'.repeat(63)}2`, false],
    ['SELECT * FROM hero WHERE id >= -1', true],
    ['SELECT * FROM hero WHERE 1 = id', undefined],
    ['SELECT * FROM hero WHERE id + 1 = 2', undefined],
    ['SELECT * FROM hero WHERE id = 1 ORDER BY id DESC, nick LIMIT 5', true],
    ['SELECT * FROM hero WHERE id = 1 ORDER BY id + 1', undefined],
    ['SELECT * FROM hero ORDER BY id LIMIT 5 OFFSET 5', undefined],
    ['SELECT * FROM hero LIMIT 5', undefined],
    ['SELECT * FROM hero WHERE id = 1.5', undefined],
    ['SELECT * FROM hero WHERE id = nick', undefined],
    ['SELECT * FROM hero WHERE mood = 1', undefined],
    ['SELECT * FROM hero h WHERE h.id = 1', undefined],
    ['SELECT id FROM hero', undefined],
    ['SELECT * FROM sword', undefined],
    ['SELECT shout.* FROM hero', undefined],
    ['SELECT * FROM hero JOIN shout ON hero.nick = shout.text', undefined],
    ['', undefined],
  ])('[client-sdk 15] %s: %s', (sql, expected) => {
    expect(holds(sql, hero(1))).toBe(expected);
  });
});
