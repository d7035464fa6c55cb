import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  badLiteral,
  itAnswers,
  mismatch,
  noTable,
  notInScope,
  RulesDatabase,
} from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
});
beforeEach(() => db.fill());
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);
const answer = (sql: string) => db.answer(sql);
const timestamp = '(__timestamp_micros_since_unix_epoch__: I64)';

describe('acceptance checklist', () => {
  itAnswers(
    '[sql 12] names and projections',
    {
      'SELECT * FROM User_Profile': noTable('User_Profile'),
      'SELECT COUNT(*) FROM t': 'Aggregate expressions must have column aliases',
      'select count(*) n from t limit 2': '[[5]]',
      'SELECT a x, a y FROM t LIMIT 0': '[]',
      'SELECT t.x, s.x FROM t JOIN s ON t.id = s.id': 'Duplicate name `x`',
      'SELECT t.x AS a, s.x AS b FROM t JOIN s ON s.id = t.id': '[[-1,-1],[-2,-2],[-3,-3]]',
      'SELECT t.* FROM t JOIN s ON (t.id = s.id)': 'Non-inner joins are not supported',
      'SELECT * FROM t AS r WHERE t.a = 1': notInScope('t'),
    },
    answer,
  );
  it('[sql 12] SELECT a x, a y FROM t: columns x, y', async () => {
    expect(await db.columns('SELECT a x, a y FROM t')).toEqual(['x', 'y']);
  });
  itAnswers(
    '[sql 12] literals',
    {
      'SELECT * FROM t WHERE u8 = 1e3': badLiteral('1e3', 'U8'),
      'SELECT * FROM t WHERE u8 = -1': badLiteral('-1', 'U8'),
      'SELECT * FROM t WHERE u8 = 0.1': badLiteral('0.1', 'U8'),
      'SELECT * FROM t WHERE f32 = 1e40': 'ok',
      'SELECT * FROM t WHERE flag': 'ok',
      'SELECT * FROM t WHERE flag = 1': badLiteral('1', 'Bool'),
      'SELECT * FROM t WHERE 1 = 1': 'Cannot resolve type for literal expression',
      "SELECT * FROM opaque WHERE opt = 'x'": badLiteral('x', 'U32'),
    },
    refusal,
  );
  itAnswers(
    '[sql 12] INSERT',
    {
      'INSERT INTO one VALUES (1)':
        'The number of fields (0) in the INSERT does not match the number of columns (1) ' +
        'of the table `one`',
      "INSERT INTO stamped (ts) VALUES ('2025-01-01T00:00:00Z')": mismatch('String', timestamp),
    },
    refusal,
  );
  it('[sql 12] UPDATE t SET a = 2 over 5 distinct single-column rows', async () => {
    expect(await db.counts('UPDATE one SET a = 2')).toEqual([0, 0, 5]);
    expect(await db.rows('SELECT * FROM one')).toEqual([[2]]);
  });
  it('[sql 12] DELETE by somebody else', async () => {
    expect(await db.refusal('DELETE FROM t', 'ada')).toMatch(/ is not authorized to run SQL DML /);
    expect(await db.refusal('DELETE FROM secret', 'ada')).toBe(noTable('secret'));
  });
  it('[sql 12] SET row_limit twice', async () => {
    expect(await refusal('SET row_limit = 4')).toBe('ok');
    expect(await refusal('SET row_limit = 5')).toMatch(
      /^IndexError: Unique constraint violation 'st_var_name_idx_btree' in table 'st_var'/,
    );
    expect(await db.refusal('SELECT * FROM t', 'ada')).toBe(
      'Estimated cardinality (5 rows) exceeds limit (4 rows)',
    );
    await db.result("DELETE FROM st_var WHERE name = 'row_limit'");
    await db.result('SET row_limit = 5');
    expect(await db.refusal('SELECT * FROM t', 'ada')).toBe('ok');
    await db.result("DELETE FROM st_var WHERE name = 'row_limit'");
  });
  it('[sql 12] OR chain of 1601 / 1600 terms', async () => {
    const chain = (terms: number) =>
      `SELECT id FROM t WHERE ${Array.from({ length: terms }, (_, at) => `a = ${at}`).join(' OR ')}`;
    expect(await answer(chain(1_600))).toBe('[[1],[2],[3],[4],[5]]');
    expect(await answer(chain(1_601))).toBe('Recursion limit exceeded, `sql-parser::parse_expr`');
  });
  it('[sql 12] 48 / 47 nested parentheses around a comparison', async () => {
    const nested = (depth: number) =>
      `SELECT id FROM t WHERE ${'('.repeat(depth)}a = 10${')'.repeat(depth)}`;
    expect(await answer(nested(47))).toBe('[[1]]');
    expect(await answer(nested(48))).toBe('sql parser error: recursion limit exceeded');
  });
  it('[sql 12] one table self-joined under 200 aliases with ON', async () => {
    const joins = Array.from({ length: 199 }, (_, at) => `JOIN t AS t${at} ON t${at}.id = t.id`);
    expect(await answer(`SELECT t.id FROM t ${joins.join(' ')}`)).toBe('[[1],[2],[3],[4],[5]]');
  });
  itAnswers('[sql 12] a contradiction', { 'SELECT * FROM t WHERE x > 5 AND x < 5': '[]' }, answer);
});
