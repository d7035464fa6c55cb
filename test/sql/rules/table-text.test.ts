import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drawTable, readResult } from '../../../src/cli/sql-table.ts';
import { parseJson } from '../../../src/values/json.ts';
import { itAnswers, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

async function tableOf(sql: string) {
  const results = parseJson((await db.ask(sql)).text);
  if (!Array.isArray(results)) throw new Error(`no result: ${sql}`);
  return readResult(results[0] ?? null);
}

/** The cells of the first row, as the command line shows them. */
async function cells(sql: string): Promise<string> {
  return (await tableOf(sql)).rows[0]?.join(' | ') ?? 'no row';
}

const low = 'FROM every_type WHERE NOT bool';
const high = 'FROM every_type WHERE bool';

describe('the table of the command line', () => {
  it('[sql 7.4] is drawn like that of psql', async () => {
    const table = drawTable(await tableOf('SELECT id, name AS word FROM t WHERE id < 3'));
    expect(table.split('\n').map((line) => line.trimEnd())).toEqual([
      ' id | word',
      '----+------',
      ' 1  | "n1"',
      ' 2  | "n2"',
    ]);
  });
  itAnswers(
    '[sql 7.4, ease 2.4] strings in double quotes, not escaped; bytes as digits',
    {
      [`SELECT string, bytes ${low}`]: '"low" | 0000ab',
      [`SELECT string, bytes ${high}`]: '"high "ß"" | 0001ab',
    },
    cells,
  );
  itAnswers(
    '[ease 2.4] Identity and ConnectionId as full-width hex',
    {
      [`SELECT who, link ${low}`]: `${'ab'.padStart(64, '0')} | ${'cd'.padStart(32, '0')}`,
    },
    cells,
  );
  itAnswers(
    '[ease 2.4] Timestamp as RFC 3339, UUID',
    {
      [`SELECT moment, uuid ${low}`]:
        '2025-02-10T15:45:30.123456Z | 018867c5-d400-7321-8a9b-0c1d2e3f4051',
    },
    cells,
  );
  itAnswers(
    '[ease 2.4] TimeDuration in units',
    {
      'SELECT duration FROM opaque WHERE id = 1': '1.5s',
      'SELECT duration FROM opaque WHERE id = 2': '-1us',
    },
    cells,
  );
  itAnswers(
    '[ease 2.4] records, sums and unit',
    {
      'SELECT point, mood, unit FROM opaque WHERE id = 1': '{"x":3,"y":-4} | {"loud":9} | {}',
      'SELECT opt, color FROM opaque WHERE id = 1': '7 | green',
      'SELECT opt, mood FROM opaque WHERE id = 2': 'null | {"at":{"x":5,"y":6}}',
    },
    cells,
  );
});
