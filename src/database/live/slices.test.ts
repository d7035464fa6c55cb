import { describe, expect, it } from 'vitest';
import { ItemDatabase } from '../../../test/support/item-database.ts';
import { limits } from '../../limits.ts';
import { type RowSet, rowCountOf } from '../../live/row-set.ts';
import { nextTurn } from '../../node/next-turn.ts';
import { ownerRights } from '../../sql/rights.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { DatabaseReply } from '../turn.ts';
import { querySetId } from './set-id.ts';

const caller = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };
const all = 'SELECT * FROM item';
const count = 20_000;

/** A database whose first rows are read a thousand at a time, with one connection. */
async function opened(rowCount = count) {
  const slices = { millis: 0, rowsPerCheck: 1_000 };
  const items = await ItemDatabase.open(rowCount, { slices });
  const connectionId = connectionNumber(9n);
  await items.request({ kind: 'connect', caller, connectionId });
  items.entries.length = 0;
  return { items, connectionId };
}

type Opened = Awaited<ReturnType<typeof opened>>;

function subscribe({ items, connectionId }: Opened, raw: number, ...queries: string[]) {
  const request = { setId: querySetId(raw), queries, knowsEvents: true };
  const connection = { caller, connectionId };
  return items.request({ kind: 'subscribe', connection, subscribe: request });
}

/** Kinds of what the actor reported, in order, except for the numbered turns. */
function told({ items }: Opened): string[] {
  return items.entries.map((entry) => ('reply' in entry ? entry.reply.kind : entry.kind));
}

function setsIn(reply: DatabaseReply): readonly RowSet[] {
  if (reply.kind !== 'subscribed' && reply.kind !== 'unsubscribed') throw new Error(reply.kind);
  const { outcome } = reply;
  if (outcome.kind === 'refused') throw new Error(outcome.error);
  return (outcome.queries ?? []).flatMap(({ fragments }) => fragments);
}

function rowsIn(reply: DatabaseReply): number {
  return setsIn(reply).reduce((sum, rows) => sum + rowCountOf(rows), 0);
}

function bytesIn(reply: DatabaseReply): Uint8Array[] {
  return setsIn(reply).map(({ data }) => data);
}

describe('first rows in slices', () => {
  it('[subscriptions 2] are those of one commit, and others write meanwhile', async () => {
    const database = await opened();
    const { items } = database;
    const { offset } = items.database;
    const subscribing = subscribe(database, 1, all, `${all} WHERE id < 5000`);
    for (let id = 0; id < 10; id++) await items.remove(id);
    expect(told(database)).toEqual([
      'reading',
      ...Array.from({ length: 10 }, () => ['committed', 'called']).flat(),
    ]);
    const reply = await subscribing;
    expect(reply).toMatchObject({ outcome: { kind: 'applied', offset } });
    expect(rowsIn(reply)).toBe(count + 5_000);
    expect(items.store.heldBytes).toBe(0);
    await items.database.close();
  });

  it('[subscriptions 7] of a set that is left are those of its end', async () => {
    const database = await opened();
    const { items, connectionId } = database;
    const subscribing = subscribe(database, 1, all);
    await items.remove(1);
    const unsubscribe = { setId: querySetId(1), withRows: true };
    const leaving = items.request({ kind: 'unsubscribe', connectionId, unsubscribe });
    await items.remove(2);
    const numbers = items.entries.flatMap((entry) => ('updates' in entry ? entry.updates : []));
    expect(numbers).toHaveLength(1);
    expect(rowsIn(await subscribing)).toBe(count);
    expect(rowsIn(await leaving)).toBe(count - 1);
    expect([items.database.liveFigures.queries, items.store.heldBytes]).toEqual([0, 0]);
    await items.database.close();
  });

  it('[subscriptions 14.3] end with their connection, and leave nothing behind', async () => {
    const database = await opened();
    const { items, connectionId } = database;
    const subscribing = subscribe(database, 1, all);
    await items.remove(1);
    await items.request({ kind: 'disconnect', connectionId });
    expect(await subscribing).toMatchObject({
      outcome: { kind: 'refused', error: 'The connection is not open.' },
    });
    await items.remove(2);
    expect(told(database).slice(-2)).toEqual(['disconnected', 'called']);
    expect([items.database.liveFigures.queries, items.store.heldBytes]).toEqual([0, 0]);
    await items.database.close();
  });

  it('are counted as memory of reads for as long as they are held', async () => {
    const rowCount = 300_000;
    const database = await opened(rowCount);
    const { items, connectionId } = database;
    const held = (): number => items.database.statementBytes;
    const most = async (reading: Promise<unknown>): Promise<number> => {
      let bytes = 0;
      let isOver = false;
      void reading.finally(() => {
        isOver = true;
      });
      for (; !isOver; await nextTurn()) bytes = Math.max(bytes, held());
      return bytes;
    };
    const first = subscribe(database, 1, all);
    const bytes = await most(first);
    const rows = await first;
    expect(rowsIn(rows)).toBe(rowCount);
    expect(bytes).toBeGreaterThan(bytesIn(rows).reduce((sum, { length }) => sum + length, 0));
    expect(held()).toBe(0);
    // One that shares its read with another, and both end before they have everything.
    const sharing = Promise.all([subscribe(database, 2, all), subscribe(database, 3, all)]);
    while (held() < bytes / 4) await nextTurn();
    await items.request({ kind: 'disconnect', connectionId });
    await sharing;
    expect(held()).toBe(0);
    await items.database.close();
  });

  it('[subscriptions 8] that changed too much meanwhile end the set alone', async () => {
    const database = await opened();
    const { items } = database;
    const subscribing = subscribe(database, 1, all);
    await items.remove(1);
    items.table.held.letGo('it was tried');
    expect(await subscribing).toMatchObject({
      outcome: { kind: 'refused', error: expect.stringContaining('because it was tried') },
    });
    expect([items.database.liveFigures.queries, items.store.heldBytes]).toEqual([0, 0]);
    expect(rowsIn(await subscribe(database, 1, `${all} WHERE id = 7`))).toBe(1);
    await items.database.close();
  });

  it('[subscriptions 13] are read to the end before an update of the program', async () => {
    const database = await opened();
    const { items } = database;
    const subscribing = subscribe(database, 1, all);
    await items.remove(1);
    expect(await items.update(2)).toMatchObject({ kind: 'updated' });
    expect(rowsIn(await subscribing)).toBe(count);
    expect(told(database).slice(-2)).toEqual(['subscribed', 'updated']);
    await items.database.close();
  });

  it('are not lost to one set when they were handed out to another', async () => {
    const database = await opened();
    const { items } = database;
    const seven = `${all} WHERE id = 7`;
    const [first, second] = [subscribe(database, 1, seven), subscribe(database, 2, seven, all)];
    // Rows that were handed out belong to their receiver.
    for (const bytes of bytesIn(await first)) bytes.fill(0xff);
    const [of] = bytesIn(await second);
    expect(new DataView(of?.buffer ?? new ArrayBuffer(4)).getUint32(0, true)).toBe(7);
    await items.database.close();
  });

  it('are read once for all who ask at one commit, and in one go when too many do', async () => {
    const database = await opened();
    const { items } = database;
    const same = Array.from({ length: 40 }, (_, set) => subscribe(database, set, all));
    const replies = await Promise.all(same);
    for (const reply of replies) expect(rowsIn(reply)).toBe(count);
    // A turn can end while they subscribe; those of the next one then share another read.
    expect(new Set(replies.flatMap(bytesIn)).size).toBeLessThan(10);
    items.entries.length = 0;
    const other = Array.from({ length: limits.pausedSetsMax + 3 }, (_, set) =>
      subscribe(database, 100 + set, `${all} WHERE id <> ${set}`),
    );
    for (const reply of await Promise.all(other)) expect(rowsIn(reply)).toBe(count - 1);
    const paused = told(database).filter((kind) => kind === 'reading');
    expect(paused).toHaveLength(limits.pausedSetsMax);
    await nextTurn();
    expect(items.store.heldBytes).toBe(0);
    await items.database.close();
  });
});
