import { describe, expect, it } from 'vitest';
import {
  ItemDatabase,
  type ItemOptions,
  itemsIn,
  itemsNow,
  PausingScan,
} from '../../test/support/item-database.ts';
import { AssertionError } from '../assert.ts';
import { limits } from '../limits.ts';
import { nextTurn } from '../node/next-turn.ts';
import { strangerRights } from '../sql/rights.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { Clock } from './clock.ts';
import type { Caller, SqlOutcome } from './outcome.ts';
import type { StartReadRun } from './read-run.ts';

/** Each reading advances the clock by a millisecond, so slices are the same on every machine. */
function tickingClock(): Clock {
  let millis = 0;
  return { nowMicros: () => 1_000n, monotonicMillis: () => ++millis };
}

/** A database whose reads pause; `slices` lists the number of each read, slice by slice. */
async function openPausing(rowCount: number, options: ItemOptions = {}) {
  const slices: number[] = [];
  let reads = 0;
  const startReadRun: StartReadRun = (_, store, times) => {
    const read = ++reads;
    return new PausingScan(store, times, { onSlice: () => slices.push(read) });
  };
  const items = await ItemDatabase.open(rowCount, {
    clock: tickingClock(),
    startReadRun,
    ...options,
  });
  return { items, slices };
}

const all = 'SELECT * FROM item';

function failureOf(outcome: SqlOutcome): string {
  if (outcome.kind !== 'failed') throw new Error('the statement was expected to fail');
  return `${outcome.error.code}: ${outcome.error.message}`;
}

function stranger(identity: bigint): Caller {
  return { identity: callerIdentity(identity), rights: strangerRights, jwtPayload: '' };
}

/** Waits until the read has paused for the first time. */
async function paused(slices: readonly number[], count = 1): Promise<void> {
  while (slices.length < count) await nextTurn();
}

describe('a long read', () => {
  it('lets calls through after a slice, and answers as of its first moment', async () => {
    const { items, slices } = await openPausing(300_000);
    const before = itemsNow(items.table);
    const { offset } = items.database;
    let isOver = false;
    const reading = items.query(all).finally(() => {
      isOver = true;
    });
    const waits: number[] = [];
    for (let id = 0; !isOver; id++) {
      const at = slices.length;
      if (id === 15) await items.clear();
      else if (id % 3 === 0) await items.remove(id * 7_001);
      else await items.put(id * 7_001, 'changed');
      waits.push(slices.length - at);
    }
    const outcome = await reading;
    expect(itemsIn(outcome)).toEqual(before);
    // The connection of the read itself was committed first.
    expect(outcome).toMatchObject({ kind: 'result', offset: offset + 1 });
    expect(slices.length).toBeGreaterThan(20);
    expect(waits.length).toBeGreaterThan(15);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2);
    expect(items.store.heldBytes).toBe(0);
    await items.database.close();
  });

  it('shares the slices of the turns with others', async () => {
    const { items, slices } = await openPausing(50_000);
    const outcomes = await Promise.all([items.query(all), items.query(all), items.query(all)]);
    for (const outcome of outcomes) expect(itemsIn(outcome)).toHaveLength(50_000);
    const inTurn = slices.slice(3, 12);
    expect(new Set(inTurn.slice(0, 3)).size).toBe(3);
    expect(inTurn.slice(3)).toEqual(inTurn.slice(0, 6));
    await items.database.close();
  });

  it('keeps its temporary connection until it is over', async () => {
    const { items, slices } = await openPausing(50_000);
    const reading = items.query(all);
    await paused(slices);
    expect(items.clientCount).toBe(1);
    const { length } = items.turns;
    const outcome = await reading;
    expect(items.clientCount).toBe(0);
    // Its slices hand nothing over; in the turn in which it ends, disconnecting takes an offset.
    expect(items.turns.length).toBe(length + 1);
    expect(items.turns.at(-1)).toBe(Number(outcome.kind === 'result' && outcome.offset) + 1);
    await items.database.close();
  });

  it('ends with its temporary connection', async () => {
    const { items, slices } = await openPausing(100_000);
    const connection = { kind: 'temporary', id: connectionNumber(77n) } as const;
    const reading = items.query(all, connection);
    const other = items.query(all);
    await paused(slices, 2);
    await items.request({ kind: 'disconnect', connectionId: connection.id });
    expect(failureOf(await reading)).toBe('sql.overBudget: The connection is not open.');
    expect(items.clientCount).toBe(1);
    expect(itemsIn(await other)).toHaveLength(100_000);
    expect(items.clientCount).toBe(0);
    await items.database.close();
  });

  it('is refused when as many run as may', async () => {
    const { items, slices } = await openPausing(100_000);
    const many = (count: number, caller?: Caller) =>
      Array.from({ length: count }, () => items.query(all, undefined, caller));
    const anonymous = Array.from({ length: limits.callerLongReadsMax + 1 }, (_, at) =>
      items.query(all, undefined, { ...stranger(BigInt(100 + at)), isAnonymous: true }),
    );
    const others = [anonymous, many(3, stranger(2n))].map((reads) => Promise.all(reads));
    const owners = many(3);
    await paused(slices, limits.longReadsMax);
    const more = ' are already running, and this is one more; try again when one of them has ended';
    const [ofAnonymous = [], ofOther = []] = await Promise.all(others);
    const ofOwner = await Promise.all(owners);
    for (const [outcomes, which] of [
      [ofAnonymous, '4 long statements of anonymous callers'],
      [ofOther, '6 long statements of callers other than the owner'],
      [ofOwner, '8 long statements'],
    ] as const) {
      expect(failureOf(outcomes.at(-1) as SqlOutcome)).toContain(`sql.busy: ${which}${more}`);
      for (const outcome of outcomes.slice(0, -1)) {
        expect(outcome).toMatchObject({ kind: 'result', rowCount: 100_000 });
      }
    }
    const [own] = (await Promise.all(many(limits.callerLongReadsMax + 1))).slice(-1);
    expect(failureOf(own as SqlOutcome)).toContain(`sql.busy: 4 of your long statements${more}`);
    expect(itemsIn(await items.query(all))).toHaveLength(100_000);
    expect(items.clientCount).toBe(0);
    expect(items.store.heldBytes).toBe(0);
    await items.database.close();
  });

  it('leaves nothing behind, also when nobody writes any more', async () => {
    const { items, slices } = await openPausing(100_000);
    const reading = items.query(all);
    await paused(slices);
    await items.clear();
    expect(items.store.heldBytes).toBeGreaterThan(2_000_000);
    expect(itemsIn(await reading)).toHaveLength(100_000);
    for (let turn = 0; !items.table.held.isIdle; turn++) {
      expect(turn).toBeLessThan(100);
      await nextTurn();
    }
    expect(items.table.heap.usedBytes).toBe(0);
    expect(items.table.heap.allocatedBytes).toBeLessThanOrEqual(limits.pageBytes);
    await items.database.close();
  });

  it('is over at once when it is short', async () => {
    const { items, slices } = await openPausing(1_000);
    expect(itemsIn(await items.query(all))).toHaveLength(1_000);
    expect(slices).toEqual([1]);
    await items.database.close();
  });

  it('finishes before the database closes', async () => {
    const { items, slices } = await openPausing(100_000);
    const reading = items.query(all);
    await paused(slices);
    const closing = items.database.close();
    await expect(items.query(all)).rejects.toMatchObject({ body: { code: 'database.stopped' } });
    await closing;
    expect(itemsIn(await reading)).toHaveLength(100_000);
  });

  it('ends with an error when its pins are revoked', async () => {
    const { items, slices } = await openPausing(50_000);
    const reading = items.query(all);
    await paused(slices);
    items.table.held.letGo('the table was full');
    expect(failureOf(await reading)).toMatch(
      /^sql.overBudget: The statement was stopped during a pause, because the table was full/,
    );
    expect(items.clientCount).toBe(0);
    expect(await items.put(1, 'after')).toMatchObject({ kind: 'committed' });
    await items.database.close();
  });
});

describe('an update of the program', () => {
  it('ends long reads with an error, and goes on', async () => {
    const { items, slices } = await openPausing(100_000);
    const reading = items.query(all);
    await paused(slices);
    const updating = items.update(2);
    expect(failureOf(await reading)).toBe(
      'sql.overBudget: The statement was stopped, because the program was updated while it ran; ' +
        'try again',
    );
    expect(await updating).toMatchObject({ kind: 'updated', endsConnections: false });
    expect(items.clientCount).toBe(0);
    expect(items.store.heldBytes).toBe(0);
    expect(itemsIn(await items.query(all))).toHaveLength(100_000);
    await items.database.close();
  });

  it('leaves them alone when it changes nothing or is refused', async () => {
    const { items, slices } = await openPausing(100_000);
    const reading = items.query(all);
    await paused(slices);
    expect(await items.update(1)).toMatchObject({ kind: 'updated' });
    const badToken = { policy: 'breakClients', token: 'wrong' } as const;
    expect(await items.update(2, badToken)).toMatchObject({ kind: 'refused' });
    expect(itemsIn(await reading)).toHaveLength(100_000);
    await items.database.close();
  });
});

describe('a watcher', () => {
  it('is told of each slice that it is a request that runs', async () => {
    const told: string[] = [];
    const progress = {
      calling: (ticket: number) => told.push(`calling ${ticket}`),
      scheduled: () => told.push('scheduled'),
      loading: () => told.push('loading'),
      writing: (ticket: number) => told.push(`writing ${ticket}`),
      resting: () => told.push('resting'),
      viewing: () => told.push('viewing'),
      viewed: () => told.push('viewed'),
    };
    const { items, slices } = await openPausing(50_000, { progress });
    told.length = 0;
    await items.query(all);
    expect(slices.length).toBeGreaterThan(3);
    const later = slices.slice(1, -1).flatMap(() => ['calling 1', 'resting']);
    expect(told).toEqual(['calling 1', 'writing 1', 'resting', ...later, 'calling 1', 'resting']);
    await items.database.close();
  });

  it('[style] sees a bug in a read end that read alone, with its cause in the log', async () => {
    let slices = 0;
    const startReadRun: StartReadRun = (_, store, times) =>
      new PausingScan(store, times, {
        onSlice: () => {
          slices += 1;
          if (slices === 4) throw new AssertionError('a bug of ours');
        },
      });
    const items = await ItemDatabase.open(50_000, { clock: tickingClock(), startReadRun });
    expect(failureOf(await items.query(all))).toBe(
      'sql.internal: The statement failed inside the engine; nothing was changed. ' +
        'See the module log',
    );
    expect(items.lines.map(({ message }) => message).join()).toContain('a bug of ours');
    await items.put(1, 'goes on');
    expect(items.stopped).toBeUndefined();
    await items.database.close();
  });
});
