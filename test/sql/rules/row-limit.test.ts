import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { itAnswers, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
});
beforeEach(() => db.fill());
afterAll(() => db.stop());

async function limit(rows: number): Promise<void> {
  await db.result("DELETE FROM st_var WHERE name = 'row_limit'");
  await db.result(`SET row_limit = ${rows}`);
}

const exceeds = (estimate: number, rows: number) =>
  `Estimated cardinality (${estimate} rows) exceeds limit (${rows} rows)`;

/** The estimate of a query, as the refusal by a limit of zero tells it; 0 when nothing is scanned. */
async function estimate(sql: string): Promise<string> {
  await limit(0);
  const answer = await db.refusal(sql, 'ada');
  return answer.replace(/^Estimated cardinality \((\d+) rows\) exceeds limit \(0 rows\)$/, '$1');
}

describe('who is limited', () => {
  it('[sql 9] without row_limit there is none', async () => {
    await db.result("DELETE FROM st_var WHERE name = 'row_limit'");
    expect(await db.refusal('SELECT t.* FROM t CROSS JOIN s', 'ada')).toBe('ok');
  });
  it('[sql 9] it is for everybody but the owner', async () => {
    await limit(4);
    for (const who of ['ada', 'nobody'] as const) {
      expect(await db.refusal('SELECT * FROM t', who)).toBe(exceeds(5, 4));
    }
    expect(await db.refusal('SELECT * FROM t')).toBe('ok');
  });
  it('[sql 9] it is refused when the estimate is more than the limit', async () => {
    await limit(5);
    expect(await db.refusal('SELECT * FROM t', 'ada')).toBe('ok');
    await limit(4);
    expect(await db.refusal('SELECT * FROM t', 'ada')).toBe(exceeds(5, 4));
  });
  it('[sql 9] what counts is what is scanned, not the size of the result', async () => {
    await limit(4);
    expect(await db.refusal('SELECT COUNT(*) AS n FROM t', 'ada')).toBe(exceeds(5, 4));
    expect(await db.refusal('SHOW row_limit', 'ada')).toBe('ok');
  });
});

describe('estimates', () => {
  itAnswers(
    '[sql 9] a full scan: the row count',
    { 'SELECT * FROM t': '5', 'SELECT id FROM s': '3' },
    estimate,
  );
  itAnswers(
    '[sql 9] SELECT * … LIMIT n directly over a table: n, at most the row count',
    {
      'SELECT * FROM t LIMIT 2': '2',
      'SELECT * FROM t LIMIT 4': '4',
      'SELECT * FROM t LIMIT 9': '5',
    },
    estimate,
  );
  itAnswers(
    '[sql 9] an exact index lookup: the average bucket',
    { 'SELECT * FROM t WHERE id = 1': '1', 'SELECT * FROM t WHERE id = 77': '1' },
    estimate,
  );
  it('[sql 9] an index that is not unique: rows by the number of distinct keys', async () => {
    const rows = [1, 2, 3, 4, 5, 6, 7].map((id) => `(${id}, ${id % 2}, 0, 0, ${id % 3}, ${id}, 0)`);
    const columns = 'id, a, b, hashed, tree, slot, bare';
    await db.result(`INSERT INTO indexed (${columns}) VALUES ${rows.join(', ')}`);
    expect(await estimate('SELECT * FROM indexed WHERE tree = 1')).toBe('2');
    expect(await estimate('SELECT * FROM indexed WHERE hashed = 0')).toBe('7');
    expect(await estimate('SELECT * FROM indexed WHERE a = 1 AND b = 0')).toBe('3');
    expect(await estimate('SELECT * FROM indexed WHERE bare = 0')).toBe('14');
    // A range never uses an index for the estimate.
    expect(await estimate('SELECT * FROM indexed WHERE tree > 1')).toBe('14');
  });
  it('[sql 9] no keys at all: 0', async () => {
    expect(await estimate('SELECT * FROM indexed WHERE tree = 1')).toBe('ok');
  });
  itAnswers(
    '[sql 9] a filter: what is below it twice',
    { 'SELECT * FROM t WHERE a = 10': '10', 'SELECT * FROM t WHERE id > 4': '10' },
    estimate,
  );
  itAnswers(
    '[sql 9] a cross product: both sides and their product',
    { 'SELECT t.* FROM t CROSS JOIN s': '23', 'SELECT t.* FROM t JOIN s': '23' },
    estimate,
  );
  itAnswers(
    '[sql 9] an index join on a unique column: the left side twice',
    { 'SELECT one.* FROM one JOIN s ON one.a = s.id': '10' },
    estimate,
  );
  itAnswers(
    '[sql 9] a hash join: both sides and their product, when the right one is not unique',
    { 'SELECT s.* FROM t JOIN s ON t.x = s.x': '23' },
    estimate,
  );
  it('[sql 9] arithmetic saturates at U64', async () => {
    const joins = Array.from({ length: 29 }, (_, at) => `CROSS JOIN t AS t${at}`).join(' ');
    expect(await estimate(`SELECT t.id FROM t ${joins}`)).toBe('18446744073709551615');
  });
  it('[sql 9] the alternatives of several filters are summed, of rows that are seen', async () => {
    const [ada, bob] = [db.identity('ada'), db.identity('bob')];
    const insert = 'INSERT INTO letter (id, from_who, to_who) VALUES';
    await db.result(`${insert} (1, 0x${ada}, 0x${bob}), (2, 0x${bob}, 0x${ada})`);
    const before = await estimate('SELECT * FROM letter');
    // Two filters, and each may let two rows through; the second leaves out what the first lets
    // through, which takes no index and is estimated as two more.
    expect(before).toBe('6');
    // What others have does not show in the estimate.
    await db.result(`${insert} (3, 0x${bob}, 0x${bob}), (4, 0x${bob}, 0x${bob})`);
    expect(await estimate('SELECT * FROM letter')).toBe(before);
  });
});
