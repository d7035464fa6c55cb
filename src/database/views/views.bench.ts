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
const member = table({}, {
  id: t.u32().primaryKey(), who: t.identity().index(), team: t.u32().index(),
});
const note = table({}, { id: t.u32().primaryKey(), team: t.u32().index(), text: t.u32() });
const db = schema({ score, member, note });
export default db;
export const mine = db.view({ public: true }, t.array(score.rowType), (ctx) => [
  ...ctx.db.score.owner.filter(ctx.sender),
]);
export const ofTeam = db.view({ public: true }, t.array(note.rowType), (ctx) =>
  ctx.from.member
    .where((own) => own.who.eq(ctx.sender))
    .rightSemijoin(ctx.from.note, (own, each) => own.team.eq(each.team)),
);
export const join = db.reducer({ first: t.u256(), count: t.u32() }, (ctx, { first, count }) => {
  for (let id = 0; id < count; id += 1) {
    const who = new (ctx.sender.constructor as new (value: bigint) => typeof ctx.sender)(
      first + BigInt(id),
    );
    ctx.db.member.insert({ id, who, team: 0 });
  }
});
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
  const callers = Math.max(2, Math.round(1_000 * Math.min(1, scale)));
  const followed = await micros(callers, Math.ceil(scale * 2000));
  return [
    { name: 'one row changed, no views', unit, value: baseline },
    { name: 'results that rest on other keys', unit, value: unaffected, baseline },
    { name: 'one result rests on the key: evaluated anew', unit, value: one, baseline },
    { name: 'and one on the whole table', unit, value: two, baseline },
    {
      name: `a row that ${callers} callers have by a query of a view`,
      unit: 'µs of processor',
      value: followed,
    },
  ];
}

/** Processor time of a transaction that changes a row which the results of so many callers have. */
async function micros(callers: number, rounds: number): Promise<number> {
  const database = await CoreUnderTest.of(await buildText(moduleText));
  const { store, views } = database.core;
  database.run('join', strangers, callers);
  for (let caller = 0; caller < callers; caller++) {
    database.table('of_team', strangers + BigInt(caller));
  }
  const table = present(store.tableByName('note'), 'the table');
  const [index] = table.indexes.filter(({ isUnique }) => isUnique);
  const row = new Uint8Array(12);
  let cpuBefore = process.cpuUsage();
  for (let round = -rounds; round < rounds; round++) {
    if (round === 0) cpuBefore = process.cpuUsage();
    new DataView(row.buffer).setInt32(8, round, true);
    const transaction = store.begin();
    if (transaction.update(table, present(index, 'its key'), row, row.length) < 0) {
      transaction.insert(table, row, row.length);
    }
    views.refresh(transaction, 1n, false);
    transaction.commit();
    const changed = views.commit().length;
    if (changed !== callers) throw new Error(`${changed} results changed`);
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / rounds;
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
