import { describe, expect, it } from 'vitest';
import { ItemDatabase, itemsNow } from '../../../test/support/item-database.ts';
import { SnapshotLoader } from '../../history/load-snapshot.ts';
import { limits } from '../../limits.ts';
import { type SnapshotBlock, type SnapshotPlace, snapshotName } from '../../log/snapshot.ts';
import { MachineClock } from '../../node/clock.ts';
import { machineAlarms } from '../../node/machine-alarm.ts';
import { nextTurn } from '../../node/next-turn.ts';
import { emptyCatalog } from '../../schema/build-catalog.ts';
import { Store } from '../../store/store.ts';
import { type DiskOperation, SimulatedDisk } from '../../testing/simulated-disk.ts';
import type { MakeAlarm } from '../alarm.ts';
import type { Clock } from '../clock.ts';
import type { DatabaseCore } from '../core.ts';
import { ticketNumber } from '../ticket.ts';
import { LocalSnapshots } from './local-snapshots.ts';
import type { SnapshotDesk, SnapshotEvents, SnapshotFile } from './snapshot-desk.ts';
import { type SnapshotSizes, sizesOfLimits } from './snapshot-due.ts';
import type { SnapshotOutcome } from './snapshot-outcome.ts';
import { Snapshots } from './snapshots.ts';

const makeAlarm = machineAlarms(new MachineClock());

/** Keeps blocks in memory; the test says when something happens. */
class RecordingDesk implements SnapshotDesk {
  readonly taken: Taken[] = [];
  /** False: blocks are taken when the test says so. */
  takesAtOnce = true;
  isReadyAtOnce = true;

  ask(expectedBytes: number, events: SnapshotEvents): SnapshotFile {
    const taken = new Taken(events, expectedBytes, this);
    this.taken.push(taken);
    if (this.isReadyAtOnce) setImmediate(events.ready);
    return taken;
  }

  get last(): Taken {
    const taken = this.taken.at(-1);
    if (taken === undefined) throw new Error('nobody has asked for a snapshot');
    return taken;
  }
}

class Taken implements SnapshotFile {
  readonly events: SnapshotEvents;
  readonly expectedBytes: number;
  readonly blocks: SnapshotBlock[] = [];
  place: SnapshotPlace | undefined;
  end: 'finish' | 'cancel' | undefined;
  untaken = 0;
  untakenMax = 0;
  readonly #desk: RecordingDesk;

  constructor(events: SnapshotEvents, expectedBytes: number, desk: RecordingDesk) {
    this.events = events;
    this.expectedBytes = expectedBytes;
    this.#desk = desk;
  }

  begin(place: SnapshotPlace): void {
    this.place = place;
  }

  add(block: SnapshotBlock): void {
    this.blocks.push(block);
    this.untaken++;
    this.untakenMax = Math.max(this.untakenMax, this.untaken);
    if (this.#desk.takesAtOnce) setImmediate(() => this.take());
  }

  take(): void {
    this.untaken--;
    this.events.taken(undefined);
  }

  finish(): void {
    this.end = 'finish';
    setImmediate(() => this.events.finished(1_234));
  }

  cancel(): void {
    this.end = 'cancel';
  }

  /** The rows of `item` that it holds. */
  items(): string[] {
    const store = new Store(emptyCatalog);
    const tables = new Map<number, { rowCount: number; rowBytes: number }>();
    for (const block of this.blocks) {
      if (block.kind !== 'rows') continue;
      const { rowCount, rowBytes } = tables.get(block.tableId) ?? { rowCount: 0, rowBytes: 0 };
      const { count, bytes } = block.rows;
      tables.set(block.tableId, { rowCount: rowCount + count, rowBytes: rowBytes + bytes.length });
    }
    const listed = [...tables].map(([tableId, size]) => ({ tableId: tableId as never, ...size }));
    const loader = new SnapshotLoader(store);
    const sink = loader.begin(this.place as SnapshotPlace, listed);
    for (const block of this.blocks) sink.take(block);
    sink.commit();
    expect(loader.loaded?.place).toEqual(this.place);
    const table = store.tableByName('item');
    return table === undefined ? [] : itemsNow(table);
  }
}

async function open(rowCount: number, desk: SnapshotDesk, options: Options = {}) {
  const warnings: string[] = [];
  const items = await ItemDatabase.open(rowCount, {
    warn: (message) => warnings.push(message),
    ...(options.disk === undefined ? {} : { disk: options.disk }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    snapshots: {
      snapshotDesk: desk,
      makeAlarm: options.makeAlarm ?? makeAlarm,
      snapshotSizes: { ...sizesOfLimits, ...options.sizes },
    },
  });
  return { items, warnings };
}

interface Options {
  readonly disk?: SimulatedDisk;
  readonly sizes?: Partial<SnapshotSizes>;
  readonly clock?: Clock;
  readonly makeAlarm?: MakeAlarm;
}

/** Stands still, but for one jump after so many looks at it. */
class JumpingClock implements Clock {
  looks = Number.POSITIVE_INFINITY;
  #millis = 0;

  get jumps(): boolean {
    return this.looks !== Number.POSITIVE_INFINITY;
  }

  nowMicros(): bigint {
    return 1_000_000n + BigInt(this.#millis * 1_000);
  }

  monotonicMillis(): number {
    if (this.looks-- === 0) {
      this.#millis += 1_000;
      this.looks = Number.POSITIVE_INFINITY;
    }
    return this.#millis;
  }
}

async function take(items: ItemDatabase): Promise<SnapshotOutcome> {
  const reply = await items.request({ kind: 'snapshot' });
  if (reply.kind !== 'snapshot') throw new Error(`a snapshot was answered by ${reply.kind}`);
  return reply.outcome;
}

async function programBytes(items: ItemDatabase): Promise<Uint8Array> {
  const reply = await items.request({ kind: 'program' });
  if (reply.kind !== 'program') throw new Error(`the program was answered by ${reply.kind}`);
  return new Uint8Array(reply.program.bytes);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await nextTurn();
}

describe('a snapshot that is asked for', () => {
  it('[history 2.1] has all rows of its moment, whatever is written meanwhile', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items } = await open(150_000, desk);
    const before = itemsNow(items.table);
    const { offset } = items.database;
    const taking = take(items);
    await until(() => desk.taken.length > 0 && desk.last.place !== undefined);
    for (let id = 0; id < 200; id++) {
      if (id % 3 === 0) await items.remove(id * 701);
      else await items.put(id * 701, 'changed');
      if (desk.last.untaken > 0) desk.last.take();
    }
    desk.takesAtOnce = true;
    while (desk.last.untaken > 0) desk.last.take();
    const outcome = await taking;
    expect(outcome).toMatchObject({ kind: 'taken', offset, bytes: 1_234, rowCount: 150_000 });
    expect(desk.last.place).toMatchObject({ offset, databaseIdentity: 2n });
    expect(desk.last.items()).toEqual(before);
    expect(desk.last.expectedBytes).toBeGreaterThan(150_000 * 16);
    expect(items.database.snapshotFigures).toMatchObject({ offset, taken: 1, rowCount: 0 });
    await items.database.close();
  });

  it('[history 2.3] has at most four blocks on their way', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items } = await open(400_000, desk);
    const taking = take(items);
    let isOver = false;
    void taking.then(() => {
      isOver = true;
    });
    await until(() => desk.taken.length > 0 && desk.last.untaken === limits.snapshotBlocksMax);
    for (let time = 0; time < 20; time++) await nextTurn();
    while (!isOver) {
      if (desk.last.untaken > 0) desk.last.take();
      await nextTurn();
    }
    expect(desk.last.untakenMax).toBe(limits.snapshotBlocksMax);
    const rows = desk.last.blocks.filter(({ kind }) => kind === 'rows');
    expect(rows.length).toBeGreaterThan(limits.snapshotBlocksMax);
    for (const block of rows) {
      if (block.kind !== 'rows') continue;
      expect(block.rows.bytes.length).toBeLessThanOrEqual(limits.snapshotBlockBytes);
    }
    await items.database.close();
  });

  it.each([1, 2, 3, 4, 5])('goes on if time passes after %i looks at it', async (looks) => {
    const clock = new JumpingClock();
    const desk = new RecordingDesk();
    const { items } = await open(10, desk, {
      clock,
      makeAlarm: (ring) => ({
        set(atMicros) {
          if (atMicros === undefined) return;
          setImmediate(() => {
            if (!clock.jumps) clock.looks = looks;
            ring();
          });
        },
        dispose: () => undefined,
      }),
    });
    await items.put(1, 'busy');
    let outcome: SnapshotOutcome | undefined;
    void take(items).then((taken) => {
      outcome = taken;
    });
    for (let turn = 0; turn < 1_000 && outcome === undefined; turn++) await nextTurn();
    expect(outcome?.kind).toBe('taken');
    await items.database.close();
  });

  it('waits without an alarm while it is held, and has one again afterwards', () => {
    let isHeld = true;
    const alarms: (bigint | undefined)[] = [];
    const core = {
      ...{ clock: new JumpingClock(), snapshot: undefined, full: undefined },
      ...{ log: { bytes: 2 * sizesOfLimits.logBytesMax }, store: { offset: 3 } },
    } as unknown as DatabaseCore;
    const snapshots = new Snapshots(
      core,
      {
        snapshotDesk: new RecordingDesk(),
        isHeld: () => isHeld,
        makeAlarm: () => ({ set: (at) => void alarms.push(at), dispose: () => undefined }),
      },
      () => undefined,
    );
    snapshots.setAlarm();
    expect([snapshots.hasWork, alarms]).toEqual([false, [undefined]]);
    isHeld = false;
    snapshots.setAlarm();
    expect([snapshots.hasWork, alarms.at(-1)]).toEqual([true, core.clock.nowMicros()]);
  });

  it('[history 2.2] gets nothing that was committed since, and none without a commit', async () => {
    const desk = new RecordingDesk();
    const { items } = await open(10, desk);
    const first = await take(items);
    expect(first.kind).toBe('taken');
    expect(await take(items)).toEqual({ kind: 'kept', offset: items.database.offset });
    await items.put(1, 'other');
    expect((await take(items)).kind).toBe('taken');
    expect(desk.taken).toHaveLength(2);
    await items.database.close();
  });

  it('[history 2.2] waits for the next one, if one is being taken of what was before', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items } = await open(100_000, desk);
    const [first, second] = [take(items), take(items)];
    await until(() => desk.taken.length > 0 && desk.last.untaken > 0);
    await items.put(1, 'other');
    const third = take(items);
    await items.put(2, 'other');
    desk.takesAtOnce = true;
    while (desk.last.untaken > 0) desk.last.take();
    const [a, b, c] = await Promise.all([first, second, third]);
    expect(a).toEqual(b);
    expect(a).not.toEqual(c);
    expect(desk.taken).toHaveLength(2);
    expect(desk.last.items()).toContain('2 other');
    await items.database.close();
  });

  it('[history 2.7] begins again when an update revokes it, and never delays one', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items } = await open(100_000, desk);
    const taking = take(items);
    await until(() => desk.taken.length > 0 && desk.last.untaken > 0);
    expect(await items.update(2)).toMatchObject({ kind: 'updated' });
    desk.takesAtOnce = true;
    const outcome = await taking;
    expect(desk.taken.map(({ end }) => end)).toEqual(['cancel', 'finish']);
    expect(outcome).toMatchObject({ kind: 'taken', offset: items.database.offset });
    expect(items.database.snapshotFigures.givenUp).toBe(1);
    await items.database.close();
  });

  it('[history 2.6] is given up when too many rows change meanwhile', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items } = await open(20_000, desk, { sizes: { heldBytesMin: 1_000 } });
    const taking = take(items);
    await until(() => desk.taken.length > 0 && desk.last.place !== undefined);
    await items.clear();
    const outcome = await taking;
    expect(outcome).toMatchObject({ kind: 'failed' });
    expect(outcome.kind === 'failed' && outcome.message).toContain('given up');
    expect(desk.last.end).toBe('cancel');
    expect(items.database.snapshotFigures).toMatchObject({ givenUp: 1, taken: 0 });
    await until(() => !items.store.hasLoose);
    for (const { held } of items.store.tables) expect(held.isIdle).toBe(true);
    await items.database.close();
  });

  it('is cancelled by the one who has asked', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items } = await open(100_000, desk);
    const taking = take(items);
    await until(() => desk.taken.length > 0 && desk.last.untaken > 0);
    await items.request({ kind: 'cancel', of: ticketNumber(1), why: 'gone' });
    expect(await taking).toEqual({ kind: 'cancelled' });
    expect(desk.last.end).toBe('cancel');
    await items.database.close();
  });

  it('[history 1.6] is off where nothing is kept', async () => {
    const items = await ItemDatabase.open(3);
    expect(await take(items)).toEqual({ kind: 'off' });
    await items.database.close();
  });
});

describe('a snapshot that is due', () => {
  it('[history 2.2] is taken by itself, and again when its cost is paid', async () => {
    const desk = new RecordingDesk();
    const { items } = await open(5_000, desk, { sizes: { logBytesMin: 20_000 } });
    await items.put(1, 'other');
    await until(() => items.database.snapshotFigures.taken === 1);
    const { offset } = items.database;
    expect(items.database.snapshotFigures.offset).toBe(offset);
    for (let id = 0; id < 200; id++) await items.put(id, 'a text of some length, to fill the log');
    await until(() => items.database.snapshotFigures.taken >= 2);
    const { length } = desk.taken;
    for (let time = 0; time < 50; time++) await nextTurn();
    expect(desk.taken).toHaveLength(length);
    await items.database.close();
  });

  it('[history 2.2] is taken by a clean stop if the next opening gains by it', async () => {
    const disk = new SimulatedDisk();
    const desk = new LocalSnapshots({ disk, salt: () => 7 });
    const { items } = await open(5_000, desk, { disk, sizes: { replayMillisAtStop: 0.1 } });
    await items.put(1, 'other');
    await items.database.close(20_000);
    expect(disk.list()).toContain(snapshotName(items.database.offset));
  });

  it('[history 2.2] is given up silently when the time of a stop is over', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items, warnings } = await open(300_000, desk, { sizes: { replayMillisAtStop: 0.1 } });
    await items.database.close(500);
    expect(desk.last.end).toBe('cancel');
    expect(warnings).toEqual([]);
  });

  it('[history 2.2] is not worth a stop with little to replay', async () => {
    const desk = new RecordingDesk();
    const { items } = await open(100, desk);
    const closing = items.database.close(20_000);
    await closing;
    expect(desk.taken).toEqual([]);
  });

  it('is dropped by a stop that cannot wait for it, and its caller is told', async () => {
    const desk = new RecordingDesk();
    desk.isReadyAtOnce = false;
    const { items } = await open(100, desk);
    const taking = take(items);
    await until(() => desk.taken.length > 0);
    await items.database.close(20_000);
    expect(await taking).toMatchObject({ kind: 'failed' });
    expect(desk.last.end).toBe('cancel');
  });
});

describe('a snapshot that cannot be written', () => {
  it('[history 2.9] touches nothing else, and is tried again later', async () => {
    const desk = new RecordingDesk();
    desk.takesAtOnce = false;
    const { items, warnings } = await open(50_000, desk);
    const taking = take(items);
    await until(() => desk.taken.length > 0 && desk.last.untaken > 0);
    desk.last.events.failed('A snapshot could not be written: no space', false);
    expect(await taking).toMatchObject({ kind: 'failed' });
    expect(warnings).toEqual([
      'A snapshot could not be written: no space. The next try is in 1 min',
    ]);
    await items.put(1, 'other');
    expect(items.database.snapshotFigures).toMatchObject({ failures: 1, failuresInRow: 1 });
    await until(() => !items.store.hasLoose);
    for (const { held } of items.store.tables) expect(held.isIdle).toBe(true);
    desk.takesAtOnce = true;
    expect((await take(items)).kind).toBe('taken');
    expect(items.database.snapshotFigures.failuresInRow).toBe(0);
    await items.database.close();
  });

  it('[history 2.4] is not finished before the log is durable', async () => {
    const disk = new SimulatedDisk();
    const desk = new RecordingDesk();
    const { items } = await open(10, desk, { disk });
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    disk.beforeSync = () => held;
    const putting = items.put(1, 'other');
    const taking = take(items);
    await putting;
    await until(
      () => desk.taken.length > 0 && desk.last.blocks.some(({ kind }) => kind === 'rows'),
    );
    for (let time = 0; time < 20; time++) await nextTurn();
    expect(desk.last.end).toBeUndefined();
    release();
    expect((await taking).kind).toBe('taken');
    await items.database.close();
  });

  it.each<readonly [DiskOperation, number, 'EIO' | 'ENOSPC']>([
    ['create', 1, 'ENOSPC'],
    ['write', 1, 'ENOSPC'],
    ['write', 3, 'ENOSPC'],
    ['write', 5, 'EIO'],
    ['sync', 1, 'EIO'],
    ['sync', 2, 'EIO'],
    ['rename', 1, 'EIO'],
  ])('[history 2.9] leaves nothing after a fault: %s %i, %s', async (operation, number, code) => {
    const disk = new SimulatedDisk();
    const { items, warnings } = await open(1_000, new LocalSnapshots({ disk, salt: () => 7 }), {
      disk,
    });
    disk.failAt(operation, (disk.counts.get(operation) ?? 0) + number, code);
    expect((await take(items)).kind).toBe('failed');
    expect(warnings).toHaveLength(1);
    expect(disk.list().filter((name) => name.startsWith('snapshot'))).toEqual([]);
    await items.put(2, 'goes on');
    expect((await take(items)).kind).toBe('taken');
    expect(disk.list()).toContain(snapshotName(items.database.offset));
    expect(items.stopped).toBeUndefined();
    await items.database.close();
  });
});

describe('the snapshots on a disk', () => {
  it('[history 3.5] stay until retention removes them', async () => {
    const disk = new SimulatedDisk();
    const { items } = await open(100, new LocalSnapshots({ disk, salt: () => 7 }), { disk });
    const names: string[] = [];
    for (let time = 0; time < 4; time++) {
      await items.put(time, 'other');
      const outcome = await take(items);
      if (outcome.kind === 'taken') names.push(snapshotName(outcome.offset));
    }
    const found = disk.list().filter((name) => name.startsWith('snapshot'));
    expect(found).toEqual(names);
    await items.database.close();
  });

  it('[history 2.3] leave the program with its database, whose buffer may hold more', async () => {
    const desk = new RecordingDesk();
    const { items } = await open(10, desk);
    await items.update(7);
    // As it comes from a frame of the gateway: a view of a larger buffer, whose `slice` is no copy.
    const frame = Buffer.alloc(64, 1);
    const given = frame.subarray(8, 8 + (await programBytes(items)).length);
    given.set(await programBytes(items));
    given[0] = 8;
    const permission = { policy: 'compatible', token: undefined } as const;
    await items.request({ kind: 'update', program: { kind: 'js', bytes: given }, permission });
    const taken = take(items);
    await until(() => desk.taken.some(({ end }) => end === 'finish'));
    await taken;
    const pieces = desk.last.blocks.flatMap((block) => (block.kind === 'program' ? [block] : []));
    for (const { bytes } of pieces) expect(bytes.buffer.byteLength).toBe(bytes.length);
    for (const { bytes } of pieces) bytes.fill(0);
    expect(await programBytes(items)).toEqual(new Uint8Array(given));
    expect(given.length).toBeGreaterThan(0);
    await items.database.close();
  });

  it('[history 2.2] are never taken again, after a roll and a start either', async () => {
    const disk = new SimulatedDisk();
    let salt = 7;
    const around = {
      disk,
      snapshots: { snapshotDesk: new LocalSnapshots({ disk, salt: () => salt++ }) },
    };
    const items = await ItemDatabase.open(10, around);
    expect(await take(items)).toMatchObject({ kind: 'taken' });
    const [name = ''] = disk.list().filter((one) => one.startsWith('snapshot'));
    const content = disk.contentOf(name);
    const { offset } = items.database;
    expect(await items.request({ kind: 'roll' })).toMatchObject({ kind: 'rolled' });
    expect(await take(items)).toEqual({ kind: 'kept', offset });
    await items.database.close();
    const again = await ItemDatabase.open(0, { ...around, isReopened: true });
    expect(again.core.snapshot?.offset).toBe(offset);
    expect(await take(again)).toEqual({ kind: 'kept', offset });
    expect(disk.contentOf(name)).toEqual(content);
    await again.put(1, 'other');
    expect(await take(again)).toMatchObject({ kind: 'taken', offset: again.database.offset });
    await again.database.close();
  });

  it('[history 2.10] need free space beside them', async () => {
    const disk = new SimulatedDisk();
    const space = () => ({ freeBytes: 900 * 2 ** 20, totalBytes: 2 ** 34 });
    const { items, warnings } = await open(10, new LocalSnapshots({ disk, salt: () => 7, space }));
    for (let time = 0; time < 2; time++) {
      const outcome = await take(items);
      expect(outcome).toMatchObject({ kind: 'failed' });
      expect(outcome.kind === 'failed' && outcome.message).toContain('MiB of free space');
    }
    expect(warnings).toHaveLength(1);
    await items.database.close();
  });

  it('[history 2.31] open the database with what it had, and what came since', async () => {
    const disk = new SimulatedDisk();
    const around = {
      disk,
      snapshots: { snapshotDesk: new LocalSnapshots({ disk, salt: () => 7 }) },
    };
    const items = await ItemDatabase.open(3_000, around);
    await items.put(7, 'before');
    const outcome = await take(items);
    await items.put(8, 'since');
    await items.remove(9);
    const before = itemsNow(items.table);
    const { offset, start } = items.database;
    await items.database.close();
    const again = await ItemDatabase.open(0, { ...around, isReopened: true });
    expect(again.core.snapshot?.offset).toBe(outcome.kind === 'taken' && outcome.offset);
    expect(itemsNow(again.table)).toEqual(before);
    expect(again.database.offset).toBe(offset);
    expect(again.database.start.lastMicros).toBeGreaterThanOrEqual(start.lastMicros);
    expect(again.database.snapshotFigures.offset).toBe(again.core.snapshot?.offset);
    expect(await again.update(2)).toMatchObject({ kind: 'updated' });
    await again.put(10, 'more');
    expect((await take(again)).kind).toBe('taken');
    await again.database.close();
    const third = await ItemDatabase.open(0, { ...around, isReopened: true });
    expect(itemsNow(third.table)).toEqual(itemsNow(again.table));
    expect(third.core.program.source.bytes).toEqual(Uint8Array.of(2));
    await third.database.close();
  });
});
