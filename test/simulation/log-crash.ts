import { assert } from '../../src/assert.ts';
import { CommitLog } from '../../src/log/commit-log.ts';
import { readDurableMark } from '../../src/log/durable-mark.ts';
import { epoch } from '../../src/log/epoch.ts';
import { LogBrokenError } from '../../src/log/log-error.ts';
import { Random } from '../../src/testing/random.ts';
import { PowerCut, SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';
import { appendTo, randomRecord, textOf } from './log-records.ts';

export interface LogCrashOptions {
  readonly seed: number;
  /** Steps of the run that is interrupted; each appends, writes, syncs or reopens. */
  readonly steps: number;
  /** Disks tried for each place where the power is cut. */
  readonly outcomes: number;
  readonly segmentBytes: number;
  /** Whether there are records of migrations. */
  readonly withRuns?: boolean;
}

export interface LogCrashReport {
  readonly operations: number;
  readonly crashes: number;
  readonly warnings: number;
}

/**
 * Runs a log on a simulated disk, over and over, cutting the power at each of its operations, and
 * checks after each cut that
 *
 * - recovery succeeds and yields a prefix of what was appended, byte for byte;
 * - the prefix holds everything that had been reported durable, and all that the mark beside the
 *   log says was durable, whether it follows each sync or some of them;
 * - the log goes on from there, through another cut at a random place, with the same result.
 *
 * Throws an error that names seed and place.
 */
export async function runLogCrash(options: LogCrashOptions): Promise<LogCrashReport> {
  const whole = new LogRun(options, new SimulatedDisk(), new Random(options.seed));
  await whole.go(options.steps);
  const operations = whole.disk.operationCount;
  let crashes = 0;
  let warnings = 0;
  for (let cut = 1; cut <= operations; cut++) {
    for (let outcome = 0; outcome < options.outcomes; outcome++) {
      try {
        warnings += await interrupt(options, cut, outcome);
      } catch (error) {
        const where = `seed ${options.seed}, cut at operation ${cut}, outcome ${outcome}`;
        throw new Error(`${where}: ${String(error)}`, { cause: error });
      }
      crashes++;
    }
  }
  return { operations, crashes, warnings };
}

/** Three interruptions in a row; then everything that was appended must be there. */
async function interrupt(options: LogCrashOptions, cut: number, outcome: number): Promise<number> {
  const random = new Random(options.seed * 1_000_003 + cut * 101 + outcome);
  const disk = new SimulatedDisk();
  disk.stopAt(cut);
  let run = new LogRun(options, disk, new Random(options.seed));
  await run.go(options.steps);
  let warnings = run.warnings;
  for (const steps of [random.below(20), random.below(3), 3]) {
    run = run.after(random.chance(0.5) ? 'kill' : 'powerCut', random);
    if (steps !== 3) run.disk.stopAt(random.between(1, 40));
    await run.go(steps);
    warnings += run.warnings;
  }
  await run.after('kill', random).go(0);
  return warnings;
}

/** One run of a log; `appended` holds what this and earlier runs put into it, as text. */
class LogRun {
  readonly disk: SimulatedDisk;
  warnings = 0;
  readonly #options: LogCrashOptions;
  readonly #random: Random;
  #appended: string[] = [];
  /** How many of `appended` were reported durable, and how many had at least been written. */
  #durableCount = 0;
  #writtenCount = 0;
  #log: CommitLog | undefined;
  #syncs: Promise<void>[] = [];
  /** Marks that are to be written later. */
  #due: (() => void)[] = [];

  constructor(options: LogCrashOptions, disk: SimulatedDisk, random: Random) {
    this.disk = disk;
    this.#options = options;
    this.#random = random;
    const delays = random.fork();
    disk.beforeSync = () => ticks(delays.below(12));
  }

  /** The run after this one was interrupted; it expects what this one was promised. */
  after(interruption: 'kill' | 'powerCut', random: Random): LogRun {
    const disk = interruption === 'kill' ? this.disk.afterKill() : this.disk.crash(random);
    const next = new LogRun(this.#options, disk, random.fork());
    next.#appended = this.#appended;
    next.#durableCount = this.#durableCount;
    next.#writtenCount = interruption === 'kill' ? this.#writtenCount : this.#durableCount;
    return next;
  }

  /** Opens the log and does `steps` random things with it; ends quietly in a power cut. */
  async go(steps: number): Promise<void> {
    try {
      await this.#open();
      for (let step = 0; step < steps; step++) await this.#step();
      await this.#opened().sync();
      this.#notice(this.#opened());
    } catch (error) {
      const cause = error instanceof LogBrokenError ? error.cause : error;
      if (!(cause instanceof PowerCut)) throw error;
    }
    await Promise.allSettled(this.#syncs);
    if (this.#log !== undefined) this.#notice(this.#log);
  }

  async #open(): Promise<void> {
    const found: string[] = [];
    const mark = readDurableMark(this.disk);
    const random = this.#random;
    this.#log = await CommitLog.open(this.disk, {
      databaseIdentity: databaseIdentity(77n),
      create: true,
      salt: this.#options.seed,
      epoch: epoch(5n),
      segmentBytes: this.#options.segmentBytes,
      onRecord: (record) => found.push(textOf(record)),
      warn: () => this.warnings++,
      later: (work) => (random.chance(0.5) ? work() : this.#due.push(work)),
    });
    assert(found.length >= this.#writtenCount, `${found.length} of ${this.#writtenCount} records`);
    const expected = this.#appended.slice(0, found.length);
    const wrong = found.findIndex((text, index) => text !== expected[index]);
    assert(wrong === -1, `record ${wrong} is not what was appended`);
    const commits = found.filter(isCommit).length;
    const marked = mark.kind === 'valid' ? mark.end.offset : 0;
    assert(marked <= commits, `the mark says ${marked}, recovery found ${commits}`);
    assert(this.#log.offset === commits, `offset ${this.#log.offset} after ${commits} commits`);
    assert(this.#log.durableOffset === commits, 'all that was recovered is durable');
    this.#appended = expected;
    this.#durableCount = found.length;
    this.#writtenCount = found.length;
  }

  async #step(): Promise<void> {
    this.disk.checkOn();
    const random = this.#random;
    const log = this.#opened();
    const kind = random.below(21);
    if (kind < 8) this.#append(log, random.between(1, 4));
    else if (kind < 12) {
      log.write();
      this.#writtenCount = this.#appended.length;
      this.disk.isQuick = random.below(2) === 0;
      if (log.syncAtOnce()) this.#durableCount = this.#writtenCount;
    } else if (kind < 16) this.#beginSync(log);
    else if (kind < 18) {
      await ticks(random.below(20));
      for (const work of this.#due.splice(0)) work();
    } else if (kind < 19) await Promise.all(this.#syncs.splice(0));
    else if (kind < 20) this.#beginRoll(log);
    else {
      await log.close();
      this.#durableCount = this.#appended.length;
      this.#writtenCount = this.#appended.length;
      await this.#open();
    }
    this.#notice(log);
  }

  /** Everything in front of the new segment is durable, and in files that stay as they are. */
  #beginRoll(log: CommitLog): void {
    log.write();
    const rolled = log.roll();
    rolled.catch(() => undefined);
    const sealed = this.disk.list().filter((name) => name.endsWith('.log'));
    const contents = sealed.slice(0, -1).map((name) => this.disk.contentOf(name).length);
    this.#follow(log, async () => {
      const { offset } = await rolled;
      assert(log.durableOffset >= offset, 'what is sealed is durable');
      const later = sealed.slice(0, -1).map((name) => this.disk.contentOf(name).length);
      assert(String(later) === String(contents), 'a sealed segment stays as it is');
    });
  }

  #beginSync(log: CommitLog): void {
    this.#follow(log, () => log.sync());
  }

  #follow(log: CommitLog, work: () => Promise<void>): void {
    const count = this.#appended.length;
    const sync = work().then(() => {
      this.#durableCount = Math.max(this.#durableCount, count);
    });
    this.#writtenCount = log.isBroken ? this.#writtenCount : count;
    // A failure shows again at the next step; here it must only not go unheard.
    sync.catch(() => undefined);
    this.#syncs.push(sync);
  }

  /** Takes the log at its word. */
  #notice(log: CommitLog): void {
    if (log.durableOffset === 0) return;
    let commits = 0;
    const position = this.#appended.findIndex((text) => {
      commits += isCommit(text) ? 1 : 0;
      return commits === log.durableOffset;
    });
    this.#durableCount = Math.max(this.#durableCount, position + 1);
    this.#writtenCount = Math.max(this.#writtenCount, this.#durableCount);
  }

  #append(log: CommitLog, count: number): void {
    for (let index = 0; index < count; index++) {
      const record = randomRecord(this.#random, log.offset + 1, this.#options.withRuns);
      appendTo(log, record);
      this.#appended.push(textOf(record));
    }
  }

  #opened(): CommitLog {
    assert(this.#log !== undefined, 'the log is open');
    return this.#log;
  }
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
}

function isCommit(text: string): boolean {
  return !text.startsWith('marks') && !text.startsWith('staged');
}
