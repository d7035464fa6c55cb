import { describe, expect, it } from 'vitest';
import { ItemDatabase, type ItemOptions, itemsNow } from '../../test/support/item-database.ts';
import { limits } from '../limits.ts';
import { nextTurn } from '../node/next-turn.ts';
import { QueryBudget } from '../sql/budget.ts';
import { ownerRights } from '../sql/rights.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { Clock } from './clock.ts';
import type { CallOutcome, SqlOutcome } from './outcome.ts';
import { StatementMemory } from './statement-memory.ts';

const rowCount = 40_000;
const mebibyte = 1024 * 1024;

/** Each reading advances the clock by a millisecond, so slices are the same on every machine. */
function tickingClock(): Clock {
  let millis = 0;
  return { nowMicros: () => 1_000n, monotonicMillis: () => ++millis };
}

function open(options: ItemOptions = {}): Promise<ItemDatabase> {
  return ItemDatabase.open(rowCount, { clock: tickingClock(), ...options });
}

const isPaused = ({ database }: ItemDatabase): boolean => database.liveFigures.pausedReads > 0;

async function paused(items: ItemDatabase): Promise<void> {
  while (!isPaused(items)) await nextTurn();
}

function expectNothingHeld(items: ItemDatabase): void {
  expect(items.store.heldBytes).toBe(0);
  expect(items.database.statementBytes).toBe(0);
  expect(items.clientCount).toBe(0);
}

/** A change made to the items, and its commit. */
interface Done {
  readonly offset: number;
  readonly apply: (texts: Map<number, string>) => void;
}

function offsetOf(outcome: CallOutcome | SqlOutcome): number {
  if (outcome.kind === 'aborted' || outcome.kind === 'failed') {
    throw new Error(JSON.stringify(outcome.error));
  }
  return outcome.offset;
}

/** Runs calls one after another until the write is over; at least some of them run in between. */
async function callsBeside(
  items: ItemDatabase,
  write: { readonly sql: string; readonly apply: Done['apply'] },
): Promise<{ readonly outcome: SqlOutcome; readonly done: readonly Done[] }> {
  let outcome: SqlOutcome | undefined;
  const done: Done[] = [];
  const writing = items.query(write.sql).then((result) => {
    outcome = result;
  });
  for (let call = 0; outcome === undefined; call++) {
    const id = (call * 7_919) % (rowCount + 5_000);
    if (call % 3 === 0) {
      const offset = offsetOf(await items.remove(id));
      done.push({ offset, apply: (texts) => texts.delete(id) });
    } else {
      const text = `call ${call}`;
      const offset = offsetOf(await items.put(id, text));
      done.push({ offset, apply: (texts) => texts.set(id, text) });
    }
  }
  await writing;
  done.push({ offset: offsetOf(outcome), apply: write.apply });
  return { outcome, done };
}

/** The items as if the commits had run one after another. */
function inOrderOfCommits(done: readonly Done[]): string[] {
  const texts = new Map(Array.from({ length: rowCount }, (_, id) => [id, `text ${id}`]));
  for (const { apply } of done.toSorted((a, b) => a.offset - b.offset)) apply(texts);
  return [...texts].map(([id, text]) => `${id} ${text}`).sort();
}

const below = 35_000;
const rewrite = (texts: Map<number, string>): void => {
  for (const id of texts.keys()) if (id < below) texts.set(id, 'written');
};
const plain = `UPDATE item SET text = 'written' WHERE id < ${below}`;
/** None of its rows can be decided on its own. */
const nested = `UPDATE item SET text = 'written' WHERE id IN
  (SELECT o.id FROM item AS o WHERE o.id < ${below})`;

describe('a large write', () => {
  it.each([
    ['each row by itself', plain],
    ['all rows together', nested],
  ])(
    '[ease 3.8] lets calls through, and takes its place among their commits: %s',
    async (_, sql) => {
      const items = await open();
      const { outcome, done } = await callsBeside(items, { sql, apply: rewrite });
      expect(itemsNow(items.table)).toEqual(inOrderOfCommits(done));
      const own = offsetOf(outcome);
      expect(done.filter(({ offset }) => offset < own).length).toBeGreaterThan(2);
      expectNothingHeld(items);
      await items.database.close();
    },
  );

  it('[ease 3.8] deletes, and copies, likewise', async () => {
    const items = await open();
    const deleting = await callsBeside(items, {
      sql: `DELETE FROM item WHERE text <> 'text 1'`,
      apply: (texts) => {
        for (const [id, text] of texts) if (text !== 'text 1') texts.delete(id);
      },
    });
    expect(itemsNow(items.table)).toEqual(inOrderOfCommits(deleting.done));
    await items.database.close();
  });

  it('is done in one turn when it looks at few rows', async () => {
    const items = await ItemDatabase.open(limits.writeRowsInOneGo - 2_000, {
      clock: tickingClock(),
    });
    const writing = items.query(plain);
    while (items.turns.length === 0) {
      expect(isPaused(items)).toBe(false);
      await nextTurn();
    }
    expect(await writing).toMatchObject({ kind: 'result', updated: items.table.rowCount });
    await items.database.close();
  });

  it('goes on when its pins are revoked', async () => {
    const items = await open();
    const writing = items.query(plain);
    await paused(items);
    items.table.held.letGo('the table was full');
    expect(await writing).toMatchObject({ kind: 'result', updated: below });
    expect(itemsNow(items.table)).toEqual(inOrderOfCommits([{ offset: 1, apply: rewrite }]));
    expectNothingHeld(items);
    await items.database.close();
  });

  it('waits for those before it, in order; one caller has a part of the places', async () => {
    const count = limits.callerLongWritesMax;
    const share = 1_500;
    const items = await ItemDatabase.open(count * share, { clock: tickingClock() });
    let isOver = false;
    const writing = Promise.all(
      Array.from({ length: count + 1 }, (_, at) => {
        const range = `id >= ${at * share} AND id < ${(at + 1) * share}`;
        return items.query(`UPDATE item SET text = 'by ${at}' WHERE ${range}`);
      }),
    ).finally(() => {
      isOver = true;
    });
    for (; !isOver; await nextTurn()) {
      expect(items.database.liveFigures.pausedReads).toBeLessThan(2);
      expect(items.database.statementBytes).toBeLessThan(4 * mebibyte);
    }
    const outcomes = await writing;
    expect(outcomes.pop()).toMatchObject({
      error: {
        code: 'sql.busy',
        message: expect.stringMatching(/^16 of your large writes are already running/),
      },
    });
    for (const outcome of outcomes) expect(outcome).toMatchObject({ updated: share });
    const offsets = outcomes.map(offsetOf);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    const texts = itemsNow(items.table).map((item) => item.replace(/^\d+ /, ''));
    expect(new Set(texts).size).toBe(count);
    expectNothingHeld(items);
    await items.database.close();
  });

  it('finds a place beside as many reads as may pause', async () => {
    const items = await open();
    const all = 'SELECT COUNT(*) AS n FROM item AS a JOIN item AS b ON a.text = b.text';
    const reads = Array.from({ length: limits.callerLongReadsMax + 1 }, (_, at) =>
      items.query(all, { kind: 'temporary', id: connectionNumber(BigInt(500 + at)) }),
    );
    const writing = items.query(plain);
    expect(await reads.at(-1)).toMatchObject({ error: { code: 'sql.busy' } });
    expect(await writing).toMatchObject({ kind: 'result', updated: below });
    await Promise.all(reads);
    expectNothingHeld(items);
    await items.database.close();
  });

  it('says that its record is written, although its ticket is of an earlier turn', async () => {
    const told: string[] = [];
    const progress = {
      calling: (ticket: number) => told.push(`calling ${ticket}`),
      scheduled: () => undefined,
      loading: () => undefined,
      writing: (ticket: number) => told.push(`writing ${ticket}`),
      resting: () => undefined,
      viewing: () => undefined,
      viewed: () => undefined,
    };
    const items = await open({ progress });
    const caller = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };
    await items.request({ kind: 'connect', caller, connectionId: connectionNumber(77n) });
    told.length = 0;
    expect(await items.query(plain, { kind: 'open', id: connectionNumber(77n) })).toMatchObject({
      updated: below,
    });
    expect(told.slice(0, -1).every((word) => word === 'calling 2')).toBe(true);
    expect(told.length).toBeGreaterThan(4);
    expect(told.at(-1)).toBe('writing 2');
    await items.database.close();
  });
});

describe('a large write that ends before its commit', () => {
  const before = inOrderOfCommits([]);

  async function expectUntouched(items: ItemDatabase): Promise<void> {
    expect(itemsNow(items.table)).toEqual(before);
    expectNothingHeld(items);
    await items.database.close();
    expect(items.stopped).toBeUndefined();
  }

  it('with its connection, leaves nothing', async () => {
    const items = await open();
    const writing = items.query(plain, { kind: 'temporary', id: connectionNumber(77n) });
    await paused(items);
    await items.request({ kind: 'disconnect', connectionId: connectionNumber(77n) });
    expect(await writing).toMatchObject({
      kind: 'failed',
      error: { code: 'sql.overBudget', message: 'The connection is not open.' },
    });
    await expectUntouched(items);
  });

  it('with its connection, while it waits for another write, leaves nothing', async () => {
    const items = await open();
    const first = items.query(plain, { kind: 'temporary', id: connectionNumber(77n) });
    const second = items.query(plain, { kind: 'temporary', id: connectionNumber(78n) });
    await paused(items);
    for (const connectionId of [78n, 77n]) {
      await items.request({ kind: 'disconnect', connectionId: connectionNumber(connectionId) });
    }
    for (const outcome of await Promise.all([first, second])) {
      expect(outcome).toMatchObject({ error: { message: 'The connection is not open.' } });
    }
    await expectUntouched(items);
  });

  it('when its time is over, leaves nothing', async () => {
    const items = await open();
    const caller = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };
    const connection = { kind: 'temporary', id: connectionNumber(77n) } as const;
    const query = { caller, connection, sql: plain, confirmed: false, millisMax: 25 };
    const reply = await items.request({ kind: 'query', query });
    expect(reply).toMatchObject({
      outcome: {
        kind: 'failed',
        error: { message: expect.stringMatching(/ran longer than 25 ms/) },
      },
    });
    await expectUntouched(items);
  });

  it('by an update of the program, leaves nothing', async () => {
    const items = await open();
    const writing = items.query(plain);
    await paused(items);
    const updating = items.update(2);
    expect(await writing).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringMatching(/^The statement was stopped, because the program/) },
    });
    expect(await updating).toMatchObject({ kind: 'updated' });
    await expectUntouched(items);
  });

  it('for want of storage, leaves nothing', async () => {
    const items = await open();
    const { rowBytes } = items.database.storageUse();
    items.database.setStorage({ rowBytesMax: rowBytes + 1_000 });
    const writing = items.query(`INSERT INTO item (id, text) SELECT id + 100000, text FROM item`);
    await paused(items);
    expect(await writing).toMatchObject({ kind: 'failed', error: { code: 'quota.exceeded' } });
    await expectUntouched(items);
  });

  it('because a value is taken, leaves nothing', async () => {
    const items = await open();
    const writing = items.query(`UPDATE item SET id = id + 1 WHERE id <> ${rowCount - 1}`);
    await paused(items);
    expect(await writing).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringMatching(/Unique constraint violation/) },
    });
    await expectUntouched(items);
  });

  it('is done first when the database closes', async () => {
    const items = await open();
    const writing = items.query(plain);
    await paused(items);
    await items.database.close();
    expect(await writing).toMatchObject({ kind: 'result', updated: below });
  });
});

describe('what a large write holds', () => {
  it('is shared with others from its first pause on', () => {
    const memory = new StatementMemory();
    const budget = new QueryBudget();
    budget.take(10 * mebibyte);
    expect(memory.bytes).toBe(0);
    budget.share(memory.shareOf({ identity: callerIdentity(1n) }));
    expect(memory.bytes).toBe(9 * mebibyte);
    budget.take(mebibyte);
    expect(memory.bytes).toBe(10 * mebibyte);
    budget.release();
    expect(memory.bytes).toBe(0);
  });

  it('is refused beside others who hold too much', () => {
    const memory = new StatementMemory();
    const share = memory.shareOf({ identity: callerIdentity(1n) });
    share.take(limits.sqlCallerMemoryBytesMax - mebibyte);
    const budget = new QueryBudget();
    budget.take(10 * mebibyte);
    expect(() => budget.share(share)).toThrow('Your statements together need more than 512 MiB');
    budget.release();
    expect(memory.bytes).toBe(limits.sqlCallerMemoryBytesMax - mebibyte);
  });
});
