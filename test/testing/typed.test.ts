import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Range } from '../../src/declare/range.ts';
import {
  type CallFailed,
  isCallFailed,
  openTestDatabase,
  QueryFailed,
  type TestCaller,
  type TestDatabase,
} from '../../src/testing/index.ts';
import type { Timestamp } from '../../src/values/timestamp.ts';
import type * as kanban from '../fixtures/modules/kanban/src/index.ts';

const folder = fileURLToPath(new URL('../fixtures/modules/kanban', import.meta.url));

let db: TestDatabase<typeof kanban>;
let ann: TestCaller<typeof kanban>;
let bob: TestCaller<typeof kanban>;

beforeEach(async () => {
  db = await openTestDatabase<typeof kanban>({ module: folder });
  ann = db.as('ann');
  bob = db.as(db.identity('bob'));
});
afterEach(() => db.close());

const place = { columnNo: 2, Shelf: 'top' };
const add = (title: string, by = ann) => by.reducers.addTicket({ title, labels: ['new'], place });

describe('a test database that is typed by its module', () => {
  it('[ease 2.2, 2.3] calls reducers with values of the module, and gives what they return', async () => {
    const made = await add('one');
    const title: string = made.ticketTitle;
    const opened: Timestamp = made.openedAt;
    expect([title, opened]).toEqual(['one', db.clock.now]);
    expect(made).toMatchObject({ id: 1n, status: { tag: 'Todo' }, place, assignee: undefined });
    expect(made.owner.equals(ann.identity)).toBe(true);
    await ann.reducers.moveTicket({ id: 1n, status: { tag: 'inProgress' } });
    await db.reducers.addTicket({ title: 'two', labels: [], place: { columnNo: 1 } });
    expect((await db.tables.ticket.id.find(2n))?.place).toEqual({ columnNo: 1, Shelf: undefined });
    expect(await db.tables.ticket.count()).toBe(2n);
  });

  it('[ease 2.2] finds rows by keys and indexes', async () => {
    await add('one');
    await add('two', bob);
    await ann.reducers.moveTicket({ id: 1n, status: { tag: 'inProgress' } });
    const one = await db.tables.ticket.id.find(1n);
    const status: 'Todo' | 'inProgress' | 'Done' | undefined = one?.status.tag;
    expect([status, one?.place]).toEqual(['inProgress', place]);
    expect(await db.tables.ticket.id.find(3n)).toBeNull();
    expect((await db.tables.ticket.ticketTitle.find('two'))?.id).toBe(2n);
    const idsOf = (rows: readonly { readonly id: bigint }[]) => rows.map(({ id }) => id).sort();
    const { ticket } = db.tables;
    expect(idsOf(await ticket.status.filter({ tag: 'inProgress' }))).toEqual([1n]);
    expect(idsOf(await ticket.byOwner.filter([bob.identity, { tag: 'Todo' }]))).toEqual([2n]);
    expect(idsOf(await ticket.byOwner.filter(ann.identity))).toEqual([1n]);
    expect(idsOf(await ticket.assignee.filter(undefined))).toEqual([1n, 2n]);
    expect(idsOf(await ticket.assignee.filter(ann.identity))).toEqual([]);
    const upward = new Range<{ tag: 'Todo' } | { tag: 'inProgress' } | { tag: 'Done' }>({
      tag: 'excluded',
      value: { tag: 'Todo' },
    });
    expect(idsOf(await ticket.status.filter(upward))).toEqual([1n]);
    expect(idsOf(await ticket.iter())).toEqual([1n, 2n]);
    const query = ticket.where((row) => row.status.eq({ tag: 'Todo' }).and(row.id.gt(1n)));
    const rows = await db.query(query);
    expect(rows.map(({ ticketTitle }) => ticketTitle)).toEqual(['two']);
    expect(await db.query((tables) => tables.ticket.where((row) => row.id.eq(9n)))).toEqual([]);
  });

  it('[ease 2.2] shows each caller what it may see', async () => {
    await ann.reducers.note({ text: 'hidden' });
    expect(await db.tables.secretNote.iter()).toEqual([{ noteId: 0, text: 'hidden' }]);
    await expect(ann.tables.secretNote.iter()).rejects.toThrow(QueryFailed);
    await add('one');
    await add('two', bob);
    const mine = await bob.tables.myTickets.iter();
    expect(mine.map(({ ticketTitle }) => ticketTitle)).toEqual(['two']);
    expect(await ann.procedures.countOpen({ status: { tag: 'Todo' } })).toBe(2n);
    await ann.reducers.teams.joinTeam({ nickName: 'Ann' });
    const member = await db.tables.teams.member.who.find(ann.identity);
    expect(member?.nickName).toBe('Ann');
  });

  it('[ease 2.2] rejects with errors that have the type of the module', async () => {
    const move = ann.reducers.moveTicket;
    const failed: unknown = await move({ id: 7n, status: { tag: 'Done' } }).catch((error) => error);
    if (!isCallFailed(failed, move)) throw failed;
    const { error } = failed;
    expect(error.tag === 'NotThere' ? error.value : undefined).toBe(7n);
    expect(isCallFailed(failed, db.reducers.moveTicket)).toBe(true);
    const result = await move.result({ id: 7n, status: { tag: 'Todo' } });
    expect(!result.ok && result.error.error).toEqual({ tag: 'NotThere', value: 7n });
    const typed: CallFailed<unknown> | undefined = result.ok ? undefined : result.error;
    expect(typed?.code).toBe('reducer.refusedWithValue');
    const removed = await ann.reducers.removeTicket.result({ id: 7n });
    expect(!removed.ok && removed.error.message).toBe('no such ticket');
    expect(isCallFailed(!removed.ok && removed.error, move)).toBe(false);
    const done = await add('one').then(() => move.result({ id: 1n, status: { tag: 'Done' } }));
    expect(done).toEqual({ ok: true, value: undefined });
    const again = await move.result({ id: 1n, status: { tag: 'Todo' } });
    expect(!again.ok && again.error.error).toMatchObject({ tag: 'isDone' });
    await expect(ann.reducers.stop()).rejects.toThrow('stopped');
    // What has no value of that type is no rejection by it.
    const wrong = ann.reducers.addTicket({
      title: 'x',
      labels: [],
      place: { ...place, columnNo: -1 },
    });
    await expect(wrong).rejects.toThrow('columnNo: -1 is out of range');
  });

  it('[ease 2.2] names what the module does not have', () => {
    const tables: Record<string, unknown> = db.tables;
    expect(() => tables.tickets).toThrow(/^the module has no table `tickets`; it has .*`ticket`/);
    const reducers: Record<string, unknown> = db.reducers;
    expect(() => reducers.move_ticket).toThrow('the module has no reducer `move_ticket`; it has');
  });

  it('[ease 2.2, 2.1] takes both spellings in calls by name', async () => {
    await add('one');
    await db.call('move_ticket', { id: 1n, status: { tag: 'inProgress' } });
    await db.call('moveTicket', { id: 1n, status: { tag: 'done' } });
    expect((await db.tables.ticket.id.find(1n))?.status).toMatchObject({ tag: 'Done' });
    const whole = { title: 'x', labels: [], place: { columnNo: 1, Shelf: 'b' } };
    expect(await db.call('addTicket', whole)).toMatchObject({ ticket_title: 'x' });
    const canonical = { title: 'y', labels: [], place: { column_no: 1, shelf: 'b' } };
    expect(await db.call('addTicket', canonical)).toMatchObject({ place: { column_no: 1 } });
  });
});

describe('watched queries of a test', () => {
  it('[ease 2.2] have the changes of a call once it has settled', async () => {
    const { tables } = db;
    const watch = await ann.watch(tables.ticket.where((row) => row.status.ne('Done')));
    expect([watch.rows, watch.changes()]).toEqual([[], []]);
    await add('one', bob);
    const titles = watch.rows.map(({ ticketTitle }) => ticketTitle);
    expect(titles).toEqual(['one']);
    await bob.reducers.moveTicket({ id: 1n, status: { tag: 'inProgress' } });
    expect(watch.rows[0]?.status).toMatchObject({ tag: 'inProgress' });
    const changes = watch.changes();
    expect(changes.map(({ kind }) => kind)).toEqual(['insert', 'update']);
    const [, update] = changes;
    expect(update?.kind === 'update' && update.oldRow.status).toMatchObject({ tag: 'Todo' });
    await ann.reducers.moveTicket({ id: 1n, status: { tag: 'Done' } });
    expect(watch.rows).toEqual([]);
    expect(watch.changes()).toMatchObject([{ kind: 'delete', row: { id: 1n } }]);
    for (let at = 0; at < 50; at += 1) {
      await add(`number ${at}`, at % 2 === 0 ? ann : bob);
      expect(watch.rows.length).toBe(at + 1);
    }
    watch.stop();
    expect(() => watch.rows).toThrow('the watch was stopped');
  });

  it('[ease 2.2] are of tables, views, event tables, and computed rows', async () => {
    const mine = await bob.watch((tables) => tables.myTickets);
    const pings = await ann.watch((tables) => tables.ping);
    const counts = await db.watch<{ owner: unknown; n: bigint }>(
      'SELECT owner, COUNT(*) AS n FROM ticket GROUP BY owner',
    );
    await add('one');
    await add('two', bob);
    expect(mine.rows.map(({ ticketTitle }) => ticketTitle)).toEqual(['two']);
    expect(counts.rows.map(({ n }) => n)).toEqual([1n, 1n]);
    await bob.reducers.note({ text: 'x' });
    expect(pings.rows).toEqual([]);
    expect(pings.changes()).toMatchObject([{ kind: 'insert', row: { fromWhom: bob.identity } }]);
    await expect(ann.watch((tables) => tables.secretNote)).rejects.toThrow('secret_note');
    await expect(ann.watch('SELECT * FORM ticket')).rejects.toThrow(QueryFailed);
  });

  it('[ease 2.2] see what schedules do when the clock is moved', async () => {
    await add('one');
    await ann.reducers.remind({ ticketId: 1n });
    const watch = await ann.watch((tables) => tables.ticket);
    await db.clock.advance(61_000);
    expect(watch.rows[0]?.labels).toEqual(['new', 'late']);
    expect(watch.changes()).toMatchObject([{ kind: 'update', oldRow: { labels: ['new'] } }]);
  });
});

it.skip('[ease 2.2] does not compile what the module does not have', async () => {
  // @ts-expect-error: there is no such reducer.
  await db.reducers.move_ticket({ id: 1n });
  // @ts-expect-error: a variant is spelled as in the module.
  await ann.reducers.moveTicket({ id: 1n, status: { tag: 'done' } });
  // @ts-expect-error: an argument is missing.
  await ann.reducers.moveTicket({ id: 1n });
  // @ts-expect-error: clients cannot call a scheduled reducer.
  await ann.reducers.reminded({});
  // @ts-expect-error: there is no such table.
  await db.tables.tickets.iter();
  // @ts-expect-error: the key is a bigint.
  await db.tables.ticket.id.find(1);
  // @ts-expect-error: an index that is not unique has no `find`.
  await db.tables.ticket.status.find({ tag: 'Todo' });
  const row = await db.tables.ticket.id.find(1n);
  // @ts-expect-error: columns are spelled as in the module.
  row?.ticket_title;
  const result = await ann.reducers.moveTicket.result({ id: 1n, status: { tag: 'Done' } });
  // @ts-expect-error: an error of the module has one of its variants.
  if (!result.ok && result.error.error?.tag === 'Gone') throw result.error;
  // @ts-expect-error: a query of another column.
  await ann.watch((tables) => tables.ticket.where((ticket) => ticket.title.eq('x')));
});
