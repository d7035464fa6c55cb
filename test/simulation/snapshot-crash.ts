import { assert } from '../../src/assert.ts';
import type { CommitLog } from '../../src/log/commit-log.ts';
import { DiskError } from '../../src/log/disk.ts';
import { LogBrokenError } from '../../src/log/log-error.ts';
import { snapshotOffset } from '../../src/log/snapshot.ts';
import { verifyLog, verifySnapshots } from '../../src/log/verify.ts';
import type { Random } from '../../src/testing/random.ts';
import { PowerCut, SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';
import { type Interruption, interruptEverywhere } from './interrupt.ts';
import { appendTo, randomRecord, textOf } from './log-records.ts';
import { beginSnapshot, openWithSnapshots } from './snapshot-fixture.ts';

export interface SnapshotCrashOptions {
  readonly seed: number;
  /** Steps of the run that is interrupted: appends, writes, syncs, snapshots, reopenings. */
  readonly steps: number;
  /** Disks tried for each place where the power is cut. */
  readonly outcomes: number;
  readonly segmentBytes: number;
}

export interface SnapshotCrashReport {
  readonly operations: number;
  /** Power cuts, kills, and errors of the disk: each at one operation of the run. */
  readonly cuts: number;
  /** Snapshots that were completed. */
  readonly snapshots: number;
  /** Openings that used one. */
  readonly restored: number;
}

/**
 * Runs a log of which snapshots are taken, and interrupts it at each of its operations by a power
 * cut, a kill, an error of the disk and a full disk. After each interruption
 *
 * - each file with the name of a snapshot is whole, durable, and of a place that the log has;
 * - a snapshot that was reported complete is there, and nothing is left of unfinished ones;
 * - what is recovered equals what the whole log holds, is a prefix of what was appended, and has all
 *   that was reported durable; and so for each choice of snapshots that can be read;
 * - the log goes on from there, through another interruption, with the same result;
 * - an error while a snapshot is written leaves the log as it is.
 *
 * Throws an error that names seed and place.
 */
export async function runSnapshotCrash(
  options: SnapshotCrashOptions,
): Promise<SnapshotCrashReport> {
  const counts = { snapshots: 0, restored: 0 };
  const { seed, steps, outcomes } = options;
  const run = (disk: SimulatedDisk, random: Random, state = emptyState): Run =>
    new Run(options, disk, random, state, counts);
  const { operations, cuts } = await interruptEverywhere({ seed, steps, outcomes, run, goOn });
  return { operations, cuts, ...counts };
}

interface Counts {
  snapshots: number;
  restored: number;
}

/** What the runs up to now were promised. */
interface State {
  /** The records, as text, and how many of them were reported durable, or had been written. */
  readonly appended: readonly string[];
  readonly durableCount: number;
  readonly writtenCount: number;
  /** Names of the snapshots that were reported complete. */
  readonly finished: readonly string[];
}

const emptyState: State = { appended: [], durableCount: 0, writtenCount: 0, finished: [] };

/** Opens what was found, and interrupts it once more, often while it is opened. */
async function goOn(run: Run, random: Random): Promise<void> {
  const steps = random.pick([0, 0, 1, 8]);
  const isCutAgain = random.chance(0.4);
  if (isCutAgain) run.disk.stopAt(run.disk.operationCount + random.between(1, 30));
  await run.go(steps);
  const next = run.after(random.chance(0.5) ? 'kill' : 'powerCut', random);
  await next.go(isCutAgain ? 2 : 0);
}

const identity = databaseIdentity(77n);

class Run {
  readonly disk: SimulatedDisk;
  readonly #options: SnapshotCrashOptions;
  readonly #random: Random;
  readonly #counts: Counts;
  #appended: string[];
  #durableCount: number;
  #writtenCount: number;
  #finished: string[];
  #log: CommitLog | undefined;
  #syncs: Promise<void>[] = [];
  #snapshot: Promise<void> | undefined;
  /** An error that no interruption explains. */
  #fault: unknown;

  constructor(
    options: SnapshotCrashOptions,
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
    this.#finished = [...state.finished];
    const delays = random.fork();
    disk.beforeSync = () => ticks(delays.below(12));
  }

  /** What was promised up to this moment to someone who finds the disk after an interruption. */
  promised(interruption: Interruption): State {
    if (this.#log !== undefined) this.#notice(this.#log);
    const durableCount = this.#durableCount;
    const writtenCount = interruption === 'kill' ? this.#writtenCount : durableCount;
    const appended = this.#appended.slice();
    return { appended, durableCount, writtenCount, finished: this.#finished.slice() };
  }

  after(interruption: Interruption, random: Random): Run {
    const disk = interruption === 'kill' ? this.disk.afterKill() : this.disk.crash(random);
    const state = this.promised(interruption);
    return new Run(this.#options, disk, random.fork(), state, this.#counts);
  }

  /** Opens the log and does `steps` random things with it; ends quietly when the disk does. */
  async go(steps: number): Promise<void> {
    try {
      await this.#open();
      for (let step = 0; step < steps && !this.disk.isOff; step++) await this.#step();
    } catch (error) {
      const cause = error instanceof LogBrokenError ? error.cause : error;
      if (!(cause instanceof PowerCut || cause instanceof DiskError)) throw error;
    }
    await Promise.allSettled([...this.#syncs, this.#snapshot]);
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #open(): Promise<void> {
    const before = this.#examined();
    const opened = await this.#opened(this.disk);
    const { found } = opened;
    this.#log = opened.log;
    if (opened.place !== undefined) this.#counts.restored++;
    assert(found.length >= this.#writtenCount, `${found.length} of ${this.#writtenCount} records`);
    assertSame(found, this.#appended.slice(0, found.length), 'what was appended');
    assertSame(found, before, 'the whole log');
    const strange = opened.warnings.filter((text) => text.includes('snapshot'));
    assert(strange.length === 0, strange.join());
    const commits = found.filter((text) => !text.startsWith('marks')).length;
    assert(opened.log.durableOffset === commits, `durable is ${opened.log.durableOffset}`);
    const parts = this.disk.list().filter((name) => name.endsWith('.part'));
    assert(parts.length === 0, `${parts.join()} is left`);
    this.#appended = [...found];
    this.#durableCount = found.length;
    this.#writtenCount = found.length;
    if (this.#random.chance(0.3)) await this.#openOthers(found);
  }

  #opened(disk: SimulatedDisk) {
    const { seed: salt, segmentBytes } = this.#options;
    return openWithSnapshots(disk, { create: true, salt, segmentBytes });
  }

  /** The records of the whole log, after a look at each snapshot. */
  #examined(): string[] {
    const whole: string[] = [];
    const report = verifyLog(this.disk, identity, (record) => whole.push(textOf(record)));
    assert(report.kind !== 'damaged' && report.kind !== 'forked', `the log is ${report.kind}`);
    const snapshots = verifySnapshots(this.disk, identity);
    for (const { name, kind, detail } of snapshots) {
      assert(kind === 'intact', `${name} is ${kind}: ${detail}`);
    }
    const names = new Set(snapshots.map(({ name }) => name));
    const missing = this.#finished.filter((name) => !names.has(name));
    assert(missing.length === 0, `${missing.join()} was complete and is gone`);
    return whole;
  }

  /** The records are the same for each choice of snapshots that are there and intact. */
  async #openOthers(expected: readonly string[]): Promise<void> {
    const files = new Map(this.disk.list().map((name) => [name, this.disk.contentOf(name)]));
    let rotten = 0;
    for (const name of [...files.keys()]) {
      if (snapshotOffset(name) === undefined) continue;
      const kind = this.#random.below(3);
      if (kind === 1) files.delete(name);
      if (kind !== 2) continue;
      const bytes = files.get(name) as Uint8Array;
      const position = this.#random.below(bytes.length);
      bytes[position] = (bytes[position] ?? 0) ^ (1 << this.#random.below(8));
      rotten++;
    }
    const disk = new SimulatedDisk(files);
    const { found, log, warnings } = await this.#opened(disk);
    log.abandon();
    assertSame(found, expected, 'what other snapshots give');
    const aside = disk.list().filter((name) => /\.rdbs\.bad-\d+$/.test(name)).length;
    assert(aside <= rotten && aside === warnings.length, `${aside} of ${rotten} were set aside`);
  }

  async #step(): Promise<void> {
    this.disk.checkOn();
    const random = this.#random;
    const log = this.#log;
    assert(log !== undefined, 'the log is open');
    const kind = random.below(24);
    if (kind < 8) this.#append(log, random.between(1, 4));
    else if (kind < 12) {
      log.write();
      this.#writtenCount = this.#appended.length;
    } else if (kind < 15) this.#beginSync(log);
    else if (kind < 18) await ticks(random.below(20));
    else if (kind < 19) await Promise.all(this.#syncs.splice(0));
    else if (kind < 23) {
      if (this.#snapshot === undefined) this.#beginSnapshot(log);
      else if (random.chance(0.5)) await this.#snapshot;
    } else {
      await this.#snapshot;
      // A broken log only closes its files.
      log.write();
      await log.close();
      this.#durableCount = this.#appended.length;
      this.#writtenCount = this.#appended.length;
      await this.#open();
    }
    if (this.#log === log) this.#notice(log);
  }

  #beginSync(log: CommitLog): void {
    const count = this.#appended.length;
    const sync = log.sync().then(() => {
      this.#durableCount = Math.max(this.#durableCount, count);
    });
    this.#writtenCount = log.isBroken ? this.#writtenCount : count;
    // A failure shows again at the next step; here it must only not go unheard.
    sync.catch(() => undefined);
    this.#syncs.push(sync);
  }

  #beginSnapshot(log: CommitLog): void {
    log.write();
    this.#writtenCount = this.#appended.length;
    if (log.offset === 0) return;
    const work = this.#takeSnapshot(log).catch((error: unknown) => {
      if (error instanceof PowerCut || error instanceof LogBrokenError) return;
      // An error of the disk is that of the snapshot alone.
      if (!(error instanceof DiskError)) this.#fault ??= error;
    });
    this.#snapshot = work.then(() => {
      this.#snapshot = undefined;
    });
  }

  async #takeSnapshot(log: CommitLog): Promise<void> {
    const random = this.#random.fork();
    const place = log.snapshotPlace(5n);
    const records = this.#appended.slice();
    const content = { place, salt: random.u32() | 0, records, rowsPerBlock: random.between(1, 9) };
    const { writer, blocks } = beginSnapshot(this.disk, content);
    for (const block of blocks) {
      await writer.add(block);
      await ticks(random.below(6));
      if (random.chance(0.01)) return writer.abort();
    }
    const { name } = await writer.finish(log.sync());
    this.#finished.push(name);
    this.#counts.snapshots++;
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

function assertSame(found: readonly string[], expected: readonly string[], what: string): void {
  const wrong = found.findIndex((text, index) => text !== expected[index]);
  const isSame = wrong === -1 && found.length === expected.length;
  assert(isSame, `${found.length} records, not those of ${what}, from ${wrong} on`);
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
}
