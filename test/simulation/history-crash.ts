import { assert } from '../../src/assert.ts';
import { type HistoryReport, keepHistory } from '../../src/history/keep.ts';
import { indexName, indexNames, readIndex } from '../../src/history/segment-index.ts';
import type { CommitLog } from '../../src/log/commit-log.ts';
import { DiskError } from '../../src/log/disk.ts';
import { readFloor } from '../../src/log/floor.ts';
import { LogBrokenError } from '../../src/log/log-error.ts';
import { isPacked, readSegmentHeader, segmentSequence } from '../../src/log/segment.ts';
import { segmentNames, withReader } from '../../src/log/segment-reader.ts';
import { snapshotOffset } from '../../src/log/snapshot.ts';
import { verifyLog, verifySnapshots } from '../../src/log/verify.ts';
import type { Random } from '../../src/testing/random.ts';
import { PowerCut, SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';
import { type Interruption, interruptEverywhere } from './interrupt.ts';
import { appendTo, randomRecord, textOf } from './log-records.ts';
import { openWithSnapshots, writeSnapshot } from './snapshot-fixture.ts';

export interface HistoryCrashOptions {
  readonly seed: number;
  /** Steps of the run that is interrupted: appends, syncs, snapshots, passes, reopenings. */
  readonly steps: number;
  /** Disks tried for each place where the power is cut. */
  readonly outcomes: number;
  readonly segmentBytes: number;
}

export interface HistoryCrashReport {
  readonly operations: number;
  /** Power cuts, kills and errors of the disk: each at one operation of the run. */
  readonly cuts: number;
  readonly deleted: number;
  readonly packed: number;
  /** Passes that moved the floor. */
  readonly moved: number;
}

/**
 * Runs a log with snapshots, over whose history passes are made while it is written to, and
 * interrupts it at each of its operations by a power cut, a kill, an error of the disk and a full
 * disk. After each interruption
 *
 * - the segments are a contiguous rest, and the floor is at or below the first one;
 * - two snapshots are there, once there were two, and each is whole and of a place of the log;
 * - what is recovered is a prefix of what was appended, and has all that was reported durable, from
 *   each choice of snapshots that can be read, packed segments or not;
 * - `verify` finds nothing wrong, and an index is right, or not there, or known to be wrong;
 * - the run goes on from there, and another pass leaves nothing over.
 *
 * Throws an error that names seed and place.
 */
export async function runHistoryCrash(options: HistoryCrashOptions): Promise<HistoryCrashReport> {
  const counts = { deleted: 0, packed: 0, moved: 0 };
  const { seed, steps, outcomes } = options;
  const run = (disk: SimulatedDisk, random: Random, state = emptyState): Run =>
    new Run(options, disk, random, state, counts);
  const { operations, cuts } = await interruptEverywhere({ seed, steps, outcomes, run, goOn });
  return { operations, cuts, ...counts };
}

type Counts = {
  -readonly [Key in Exclude<keyof HistoryCrashReport, 'operations' | 'cuts'>]: number;
};

/** What the runs up to now were promised. */
interface State {
  /** The records, as text, and how many of them were reported durable, or had been written. */
  readonly appended: readonly string[];
  readonly durableCount: number;
  readonly writtenCount: number;
  /** Snapshots that were reported complete, at most two. */
  readonly snapshotCount: number;
}

const emptyState: State = { appended: [], durableCount: 0, writtenCount: 0, snapshotCount: 0 };

/** Opens what was found, and interrupts it once more, often while it is opened or kept. */
async function goOn(run: Run, random: Random): Promise<void> {
  const isCutAgain = random.chance(0.4);
  if (isCutAgain) run.disk.stopAt(run.disk.operationCount + random.between(1, 60));
  await run.go(random.pick([0, 1, 4]), true);
  const next = run.after(random.chance(0.5) ? 'kill' : 'powerCut', random);
  await next.go(isCutAgain ? 1 : 0, true);
}

const identity = databaseIdentity(77n);

class Run {
  readonly disk: SimulatedDisk;
  readonly #options: HistoryCrashOptions;
  readonly #random: Random;
  readonly #counts: Counts;
  #appended: string[];
  #durableCount: number;
  #writtenCount: number;
  #snapshotCount: number;
  #log: CommitLog | undefined;
  /** A snapshot or a pass, which the thread of keepers does one after another. */
  #work: Promise<void> | undefined;
  #fault: unknown;
  #nowMicros = 1n << 51n;

  constructor(
    options: HistoryCrashOptions,
    disk: SimulatedDisk,
    random: Random,
    state: State,
    counts: Counts,
  ) {
    this.disk = disk;
    this.#options = options;
    this.#random = random;
    this.#counts = counts;
    this.#appended = [...state.appended];
    this.#durableCount = state.durableCount;
    this.#writtenCount = state.writtenCount;
    this.#snapshotCount = state.snapshotCount;
    const delays = random.fork();
    disk.beforeSync = () => ticks(delays.below(8));
  }

  /** What was promised up to this moment to someone who finds the disk after an interruption. */
  promised(interruption: Interruption): State {
    if (this.#log !== undefined) this.#notice(this.#log);
    const durableCount = this.#durableCount;
    const writtenCount = interruption === 'kill' ? this.#writtenCount : durableCount;
    const appended = this.#appended.slice();
    return { appended, durableCount, writtenCount, snapshotCount: this.#snapshotCount };
  }

  after(interruption: Interruption, random: Random): Run {
    const disk = interruption === 'kill' ? this.disk.afterKill() : this.disk.crash(random);
    const state = this.promised(interruption);
    return new Run(this.#options, disk, random.fork(), state, this.#counts);
  }

  /**
   * Opens the log and does `steps` random things with it; ends quietly when the disk does.
   * `endsWithPass`: then makes a pass, which must leave nothing over.
   */
  async go(steps: number, endsWithPass = false): Promise<void> {
    try {
      await this.#open();
      for (let step = 0; step < steps && !this.disk.isOff; step++) await this.#step();
      await this.#work;
      if (endsWithPass) await this.#lastPass();
    } catch (error) {
      const cause = error instanceof LogBrokenError ? error.cause : error;
      if (!(cause instanceof PowerCut || cause instanceof DiskError)) throw error;
    }
    await this.#work;
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #lastPass(): Promise<void> {
    await this.#log?.sync();
    this.#durableCount = this.#appended.length;
    this.#writtenCount = this.#appended.length;
    await this.#keep(0);
    if (this.disk.isOff || this.#fault !== undefined) return;
    this.#checkFiles();
    this.#checkContiguous();
    for (const name of this.disk.list()) {
      const isOver = /\.(gz|idx)\.part$|^floor\.part$/.test(name);
      assert(!isOver && !this.#isDouble(name), `${name} is left`);
    }
    // Behind the last but one, no record may be durable yet.
    for (const name of segmentNames(this.disk).slice(0, -2)) {
      assert(this.disk.list().includes(indexName(name)), `${name} has no index`);
    }
  }

  #isDouble(name: string): boolean {
    return isPacked(name) && this.disk.list().includes(name.slice(0, -'.gz'.length));
  }

  async #open(): Promise<void> {
    this.#checkFiles();
    const opened = await this.#opened(this.disk);
    const { found } = opened;
    this.#log = opened.log;
    this.#checkContiguous();
    assert(found.length >= this.#writtenCount, `${found.length} of ${this.#writtenCount} records`);
    assertSame(found, this.#appended.slice(0, found.length));
    const strange = opened.warnings.filter((text) => text.includes('snapshot'));
    assert(strange.length === 0, strange.join());
    this.#appended = [...found];
    this.#durableCount = found.length;
    this.#writtenCount = found.length;
    if (this.#random.chance(0.3)) await this.#openOthers(found);
  }

  #opened(disk: SimulatedDisk) {
    const { seed: salt, segmentBytes } = this.#options;
    return openWithSnapshots(disk, { create: true, salt, segmentBytes });
  }

  /** What must be true of the files at any moment at which nobody works on them. */
  #checkFiles(): void {
    const report = verifyLog(this.disk, identity);
    const isRight = report.kind !== 'damaged' && report.kind !== 'forked';
    assert(isRight, `the log is ${report.kind}: ${'error' in report ? report.error.message : ''}`);
    const names = segmentNames(this.disk);
    const first = segmentSequence(names[0] ?? '') ?? 0;
    const floor = readFloor(this.disk);
    assert(floor.kind === 'absent' || floor.kind === 'valid', `the floor is ${floor.kind}`);
    const begin = floor.kind === 'valid' ? floor.floor.sequence : 1;
    // What is below it was left by a pass.
    assert(first <= begin, `${first} is the first segment, and the floor ${begin}`);
    const usable = verifySnapshots(this.disk, identity).filter(({ kind }) => kind === 'intact');
    assert(usable.length >= this.#snapshotCount, `${usable.length} snapshots are left`);
    this.#checkIndexes(names);
  }

  #checkContiguous(): void {
    const numbers = segmentNames(this.disk).map((name) => segmentSequence(name) ?? 0);
    numbers.forEach((number, at) => {
      assert(number === (numbers[0] ?? 0) + at, `the segments are ${numbers.join()}`);
    });
  }

  /** An index is whole, and of the records that the segment has. */
  #checkIndexes(names: readonly string[]): void {
    const headers = names.map((name) => {
      const reading = withReader(this.disk, name, (reader) => readSegmentHeader(reader.header()));
      return reading.kind === 'valid' ? reading.header : undefined;
    });
    headers.forEach((header, at) => {
      const next = headers[at + 1];
      if (header === undefined || next?.sequence !== header.sequence + 1) return;
      const name = names[at] ?? '';
      const index = readIndex(this.disk, name, header, next);
      if (index.kind === 'absent') return;
      assert(index.kind === 'valid', `the index of ${name} is ${index.kind}`);
      const { firstOffset, lastOffset } = index.index;
      assert(firstOffset === header.firstOffset, `${name} begins at ${firstOffset}`);
      assert(lastOffset === next.firstOffset - 1, `${name} ends at ${lastOffset}`);
    });
  }

  /** The records are the same for each choice of snapshots that a start may have to do with. */
  async #openOthers(expected: readonly string[]): Promise<void> {
    const files = new Map(this.disk.list().map((name) => [name, this.disk.contentOf(name)]));
    const snapshots = [...files.keys()].filter((name) => snapshotOffset(name) !== undefined);
    const isWhole = segmentSequence(segmentNames(this.disk)[0] ?? '') === 1;
    const isBare = snapshots.length === 0 || (isWhole && this.#random.chance(0.5));
    const kept = isBare ? undefined : this.#random.pick(snapshots);
    for (const name of snapshots) if (name !== kept) files.delete(name);
    for (const name of files.keys()) if (indexNames.test(name)) files.delete(name);
    const { found, log } = await this.#opened(new SimulatedDisk(files));
    log.abandon();
    assertSame(found, expected);
  }

  async #step(): Promise<void> {
    this.disk.checkOn();
    const random = this.#random;
    const log = this.#log;
    assert(log !== undefined, 'the log is open');
    const kind = random.below(20);
    if (kind < 8) {
      this.#append(log, random.between(1, 6));
      log.write();
      this.#writtenCount = this.#appended.length;
    } else if (kind < 11) {
      await log.sync();
      this.#durableCount = this.#appended.length;
      this.#writtenCount = this.#appended.length;
    } else if (kind < 18) {
      if (this.#work === undefined) this.#begin(log, kind < 15);
      else if (random.chance(0.6)) await this.#work;
    } else {
      // A pass stands still while the database opens.
      await this.#work;
      log.write();
      await log.close();
      this.#durableCount = this.#appended.length;
      this.#writtenCount = this.#appended.length;
      await this.#open();
    }
    if (this.#log === log) this.#notice(log);
  }

  #begin(log: CommitLog, isSnapshot: boolean): void {
    log.write();
    this.#writtenCount = this.#appended.length;
    if (isSnapshot && log.offset === 0) return;
    const work = isSnapshot ? this.#takeSnapshot(log) : this.#keep(0.2);
    this.#work = work
      .catch((error: unknown) => {
        if (error instanceof PowerCut || error instanceof LogBrokenError) return;
        if (!(error instanceof DiskError)) this.#fault ??= error;
      })
      .then(() => {
        this.#work = undefined;
      });
  }

  async #takeSnapshot(log: CommitLog): Promise<void> {
    const place = log.snapshotPlace(5n);
    const records = this.#appended.slice();
    const content = { place, salt: this.#random.u32() | 0, records };
    const isThere = this.disk.list().some((name) => snapshotOffset(name) === place.offset);
    if (isThere) return;
    await writeSnapshot(this.disk, content, () => log.sync());
    this.#snapshotCount = Math.min(this.#snapshotCount + 1, 2);
  }

  async #keep(stopped: number): Promise<void> {
    const random = this.#random.fork();
    const problems: string[] = [];
    let left = random.chance(stopped) ? random.below(40) : Number.POSITIVE_INFINITY;
    const report = await keepHistory(this.disk, {
      identity,
      settings: {
        keepMicros: random.pick(['everything' as const, 0n, 1n << 50n]),
        keepBytes: random.pick([0, 500, 3000]),
        keepCommits: random.pick([undefined, undefined, 20]),
        onLowDisk: 'warn',
      },
      nowMicros: this.#nowMicros,
      holds: random.chance(0.2) ? [{ by: 'test', fromOffset: random.below(60) }] : [],
      pace: () => ticks(random.below(4)),
      isStopped: () => left-- < 0,
      log: (message) => problems.push(message),
      gapBytesMax: random.pick([0, 1000, 10_000]),
    });
    const strange = problems.filter((text) => !/full/.test(text));
    if (strange.length > 0) this.#fault ??= new Error(strange.join());
    this.#note(report);
  }

  #note({ deleted, packed, reason, refused }: HistoryReport): void {
    this.#counts.deleted += deleted;
    this.#counts.packed += packed;
    if (reason !== undefined) this.#counts.moved++;
    if (refused !== undefined) this.#fault ??= new Error(refused);
  }

  /** Takes the log at its word. */
  #notice(log: CommitLog): void {
    if (log.durableOffset === 0) return;
    let commits = 0;
    const position = this.#appended.findIndex((text) => {
      commits += text.startsWith('marks') ? 0 : 1;
      return commits === log.durableOffset;
    });
    this.#durableCount = Math.max(this.#durableCount, position + 1);
    this.#writtenCount = Math.max(this.#writtenCount, this.#durableCount);
  }

  #append(log: CommitLog, count: number): void {
    for (let index = 0; index < count; index++) {
      const record = randomRecord(this.#random, log.offset + 1);
      appendTo(log, record);
      this.#appended.push(textOf(record));
    }
  }
}

function assertSame(found: readonly string[], expected: readonly string[]): void {
  const wrong = found.findIndex((text, index) => text !== expected[index]);
  const isSame = wrong === -1 && found.length === expected.length;
  assert(isSame, `${found.length} records of ${expected.length}, from ${wrong} on wrong`);
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
}
