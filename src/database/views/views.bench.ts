import { buildText } from '../../../test/support/build-text.ts';
import { CoreUnderTest } from '../../../test/support/core-under-test.ts';
import { present } from '../../assert.ts';
import type { Table } from '../../store/table.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

const moduleText = `
import { schema, t, table } from 'reducerdb/server';
const score = table({}, { id: t.u32().primaryKey(), owner: t.identity().index(), points: t.u32() });
const db = schema({ score });
export default db;
export const mine = db.view({ public: true }, t.array(score.rowType), (ctx) => [
  ...ctx.db.score.owner.filter(ctx.sender),
]);
const RowCount = t.row('RowCount', { rows: t.u64() });
export const total = db.anonymousView({ public: true }, t.option(RowCount), (ctx) => ({
  rows: ctx.db.score.count(),
}));
`;

const owners = 1_000;

/**
 * Transactions per second, each changing one row of a table, with and without live results of views
 * (without is the baseline). `scale` 1 takes about five seconds.
 */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const database = await CoreUnderTest.of(await buildText(moduleText));
  const table = present(database.core.store.tableByName('score'), 'the table');
  const rounds = Math.ceil(scale * 100_000);
  writeMany(database, table, owners);
  const baseline = writeMany(database, table, rounds);
  const liveOwners = Math.max(1, Math.ceil(owners * Math.min(1, scale)));
  for (let owner = 0; owner < liveOwners; owner++)
    database.table('mine', strangers + BigInt(owner));
  const unaffected = writeMany(database, table, rounds);
  for (let owner = 0; owner < liveOwners; owner++) database.table('mine', BigInt(owner));
  const one = writeMany(database, table, rounds, liveOwners);
  database.table('total');
  const two = writeMany(database, table, rounds, liveOwners);
  const unit = 'transactions/s';
  return [
    { name: 'one row changed, no views', unit, value: baseline },
    { name: 'results that rest on other keys', unit, value: unaffected, baseline },
    { name: 'one result rests on the key: evaluated anew', unit, value: one, baseline },
    { name: 'and one on the whole table', unit, value: two, baseline },
  ];
}

/** Identities that own nothing. */
const strangers = 1_000_000n;

/** Writes the rows of owners 0, 1, … in turn and returns transactions a second. */
function writeMany(
  { core }: CoreUnderTest,
  table: Table,
  rounds: number,
  ownerCount: number = owners,
): number {
  const { store, views } = core;
  const index = present(
    table.indexes.find(({ isUnique }) => isUnique),
    'the index of the key',
  );
  const row = new Uint8Array(40);
  const view = new DataView(row.buffer);
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round++) {
    const owner = round % ownerCount;
    view.setUint32(0, owner, true);
    view.setUint32(4, owner, true);
    view.setUint32(36, round, true);
    const transaction = store.begin();
    if (transaction.update(table, index, row, row.length) < 0) {
      transaction.insert(table, row, row.length);
    }
    views.refresh(transaction, 1n, false);
    transaction.commit();
    views.commit();
  }
  return (rounds / (performance.now() - startedAt)) * 1_000;
}
