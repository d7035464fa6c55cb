import { expect, it } from 'vitest';
import { ItemDatabase } from '../../../test/support/item-database.ts';
import { strangerRights } from '../../sql/rights.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { identityToHex } from '../../values/identity.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { SqlOutcome } from '../outcome.ts';

const someone = identityToHex(7n);

function linesOf(outcome: SqlOutcome): readonly string[] | string {
  if (outcome.kind === 'failed') return JSON.stringify(outcome.error);
  const reader = new BinaryReader(outcome.rows);
  return Array.from({ length: outcome.rowCount }, () => reader.string());
}

it('[ease 3.10] EXPLAIN LIVE is a statement, of which nothing runs', async () => {
  const items = await ItemDatabase.open(3);
  const ask = async (sql: string) => linesOf(await items.query(sql));
  const followed = [
    'incremental: each commit is followed by its changed rows',
    '  changed rows of item find the query by the value of item.id',
    'kept once for all callers with the same rights',
  ];
  expect(await ask('EXPLAIN LIVE SELECT * FROM item WHERE id = 1')).toEqual(followed);
  const as = `explain live as '${someone}'\n  (SELECT * FROM item WHERE id = 1)`;
  expect(await ask(as)).toEqual([...followed, 'needs a connection with dialect=full']);
  expect(await ask('EXPLAIN LIVE SELECT string_agg(text) AS t FROM item')).toContain('sql.');
  expect(await ask('EXPLAIN LIVE SELECT * FROM nothing')).toContain('no such table: `nothing`');
  expect(await ask('EXPLAIN LIVE DELETE FROM item')).toContain(
    'EXPLAIN LIVE supports only SELECT: nothing else can be watched',
  );
  expect(await ask('SELECT count(*) AS n FROM item')).toHaveLength(1);
});

it('[ease 3.10] EXPLAIN LIVE AS needs the rights of a developer', async () => {
  const items = await ItemDatabase.open(1);
  const stranger = { identity: callerIdentity(9n), rights: strangerRights, jwtPayload: '' };
  const outcome = await items.query(
    `EXPLAIN LIVE AS '${someone}' SELECT * FROM item`,
    undefined,
    stranger,
  );
  expect(linesOf(outcome)).toContain('EXPLAIN AS needs the rights of a developer');
});
