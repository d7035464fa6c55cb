import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import type { DiskSpace } from '../../database/snapshots/snapshot-job.ts';
import { type HistorySettings, type Hold, isDiskLow } from '../../history/retention.ts';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import { bytesText } from '../../values/bytes-text.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { DatabaseFiles, ReplacedLog } from '../registry/database-files.ts';
import { registryIdentity } from '../registry/registry.ts';
import type { HistoryFacts, HistoryTask } from '../seats/history-task.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { type HistoryMarks, isPassDue, type LastPass } from './history-due.ts';
import type { HistoryHolds } from './history-holds.ts';

export interface KeptDatabase {
  readonly identity: DatabaseIdentity;
  readonly handle: Pick<DatabaseHandle, 'statistics' | 'history'>;
}

export interface HistoryKeeperOptions {
  readonly databases: () => Iterable<KeptDatabase>;
  readonly settingsOf: (database: DatabaseIdentity) => HistorySettings;
  readonly holds: HistoryHolds;
  readonly files: Pick<DatabaseFiles, 'replaced' | 'removeReplaced' | 'replacedBytes'>;
  /** The space of the disk; `undefined`: the system does not say. */
  readonly space: () => DiskSpace | undefined;
  readonly clock: Clock;
  readonly report: Report;
}

/** What is known of a history without looking at its files. */
export interface KeptHistory {
  readonly facts: HistoryFacts;
  /** Passes that deleted something, by reason. */
  readonly shrunk: ReadonlyMap<string, number>;
}

interface State {
  last?: Omit<LastPass, 'millis'> & { readonly endedAt: number };
  isRunning: boolean;
  failures: number;
  /** Not before this time, after failures. */
  notBefore: number;
  readonly shrunk: Map<string, number>;
  /** What the last pass has said, and when that was reported. */
  said: { readonly text: string; readonly at: number };
}

/** Lines of one pass that are reported: its process may have been taken over. */
const linesMax = 8;

/**
 * Has the histories of databases kept within their settings. Every few seconds it looks at what the
 * databases have said of themselves, and starts a pass over the files of those for which there may
 * be something to do. Passes run where snapshots are written, one after another.
 */
export class HistoryKeeper {
  readonly #options: HistoryKeeperOptions;
  readonly #states = new Map<DatabaseIdentity, State>();
  #timer: NodeJS.Timeout | undefined;
  #lowReportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: HistoryKeeperOptions) {
    this.#options = options;
  }

  /** Looks every few seconds, until `close`. */
  start(): void {
    this.#timer = setInterval(() => this.look(), limits.historyLookMillis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Begins what is due; resolves when that has ended. */
  async look(): Promise<void> {
    const isLow = this.#isSpaceLow() && !(await this.#hasMadeRoom());
    const present = new Set<DatabaseIdentity>();
    const passes: Promise<void>[] = [];
    let hasWoken = false;
    for (const database of this.#options.databases()) {
      present.add(database.identity);
      const { state } = database.handle.statistics();
      // A pass wakes a database, so they take turns.
      if (state !== 'serving' && (state !== 'asleep' || hasWoken)) continue;
      const pass = this.#lookAt(database, isLow, state === 'asleep');
      if (pass === undefined) continue;
      passes.push(pass);
      if (state === 'asleep') hasWoken = true;
    }
    for (const identity of this.#states.keys()) {
      if (!present.has(identity)) this.#states.delete(identity);
    }
    await Promise.all(passes);
  }

  /** As the last pass found it; `undefined`: there was none since the service started. */
  known(database: DatabaseIdentity): KeptHistory | undefined {
    const state = this.#states.get(database);
    const facts = state?.last?.facts;
    return state === undefined || facts === undefined ? undefined : { facts, ...state };
  }

  /** Notes what another task has found, such as one that deletes on request. */
  noted(database: KeptDatabase, facts: HistoryFacts): void {
    const settings = this.#options.settingsOf(database.identity);
    this.#note(database, { marks: marksOf(database), settings, facts });
  }

  /** Bytes of the logs of a database that restores in place have replaced. */
  replacedBytes(database: DatabaseIdentity): number {
    return this.#options.files.replacedBytes(database);
  }

  /**
   * Removes replaced logs, the oldest first, while too little is free: they go before any history
   * does. Returns whether enough is free then.
   */
  async #hasMadeRoom(): Promise<boolean> {
    const { databases, files, settingsOf } = this.#options;
    const replaced = [...databases()].flatMap(({ identity }) => {
      const { onLowDisk, keepMicros } = settingsOf(identity);
      if (onLowDisk !== 'shrink' || keepMicros === 'everything') return [];
      if (files.replacedBytes(identity) === 0) return [];
      return files.replaced(identity).map((log) => ({ identity, ...log }));
    });
    replaced.sort((one, other) => one.replacedMillis - other.replacedMillis);
    for (const { identity, number, bytes } of replaced) {
      await this.#removeReplaced(identity, { number, bytes });
      if (!this.#isSpaceLow()) return true;
    }
    return false;
  }

  async #removeReplaced(
    identity: DatabaseIdentity,
    { number, bytes }: Pick<ReplacedLog, 'number' | 'bytes'>,
  ): Promise<void> {
    const name = `the log replaced-${number}, of ${bytesText(bytes)},`;
    const end = await this.#options.files.removeReplaced(identity, number).then(
      () => 'was removed: the disk is nearly full',
      (error: unknown) => `cannot be removed: ${messageOf(error)}`,
    );
    const about = { database: identityToHex(identity) };
    const message = `${nameOf(identity)}: ${name} ${end}`;
    this.#options.report({ level: 'error', message, about });
  }

  #lookAt(database: KeptDatabase, isLow: boolean, sleeps: boolean): Promise<void> | undefined {
    const { identity } = database;
    if (sleeps && !this.#canWake(identity, isLow)) return undefined;
    const state = this.#stateOf(identity);
    const now = this.#options.clock.monotonicMillis();
    if (state.isRunning || now < state.notBefore) return undefined;
    const settings = this.#options.settingsOf(identity);
    const last = state.last && { ...state.last, millis: now - state.last.endedAt };
    const shrinks = isLow && settings.onLowDisk === 'shrink';
    if (!isPassDue(marksOf(database), settings, last, shrinks)) return undefined;
    return this.#pass(database, state, settings);
  }

  /** What sleeps only grows old: for that it is woken seldom, and not before it was seen awake. */
  #canWake(identity: DatabaseIdentity, isLow: boolean): boolean {
    const last = this.#states.get(identity)?.last;
    if (last === undefined) return false;
    const millis = this.#options.clock.monotonicMillis() - last.endedAt;
    return isLow || millis >= limits.historyAsleepMillis;
  }

  async #pass(database: KeptDatabase, state: State, settings: HistorySettings): Promise<void> {
    const { holds, clock } = this.#options;
    const marks = marksOf(database);
    const task: HistoryTask = { kind: 'keep', settings, holds: holds.of(database.identity) };
    state.isRunning = true;
    try {
      const answer = await database.handle.history(task);
      if (answer.kind === 'done') this.#note(database, { marks, settings, facts: answer.facts });
      else if (answer.kind === 'failed') throw new Error(answer.message);
    } catch (error) {
      // It ended, or is ending: the next actor's history is looked at again.
      if (error instanceof Refusal) return;
      const { historyRetryMillisMin, historyRetryMillisMax } = limits;
      const delay = Math.min(historyRetryMillisMin * 2 ** state.failures, historyRetryMillisMax);
      state.failures += 1;
      state.notBefore = clock.monotonicMillis() + delay;
      this.#complain(database, `old commits could not be deleted: ${messageOf(error)}`);
    } finally {
      state.isRunning = false;
    }
  }

  #note(database: KeptDatabase, last: Omit<LastPass, 'millis'>): void {
    const state = this.#stateOf(database.identity);
    const { holds, clock } = this.#options;
    holds.measured(database.identity, last.facts.held);
    const isHold = ({ by }: Hold) => holds.of(database.identity).some((one) => one.by === by);
    const facts = { ...last.facts, held: last.facts.held.filter(isHold) };
    state.last = { ...last, facts, endedAt: clock.monotonicMillis() };
    state.failures = 0;
    this.#passOn(database.identity, state, facts.lines);
    const { reason } = facts;
    if (reason === undefined || facts.deleted === 0) return;
    state.shrunk.set(reason, (state.shrunk.get(reason) ?? 0) + 1);
    const { identity } = database;
    const message =
      `${nameOf(identity)}: its history begins at offset ${facts.floorOffset} now; ` +
      `${facts.deleted} files were deleted (${reason})`;
    const about = { database: identityToHex(identity) };
    this.#options.report({ level: 'info', message, about });
  }

  /** Passes on what a pass has said, the same words once an hour. */
  #passOn(identity: DatabaseIdentity, state: State, lines: HistoryFacts['lines']): void {
    const text = lines.map(({ message }) => message).join(' ');
    const now = this.#options.clock.monotonicMillis();
    const isSame = text === state.said.text;
    if (isSame && now - state.said.at < limits.historySpaceReportMillis) return;
    state.said = { text, at: now };
    const about = { database: identityToHex(identity) };
    for (const { level, message } of lines.slice(0, linesMax)) {
      this.#options.report({ level, message: `${nameOf(identity)}: ${message}`, about });
    }
  }

  #stateOf(identity: DatabaseIdentity): State {
    const known = this.#states.get(identity);
    if (known !== undefined) return known;
    const state: State = {
      ...{ isRunning: false, failures: 0, notBefore: 0 },
      shrunk: new Map(),
      said: { text: '', at: 0 },
    };
    this.#states.set(identity, state);
    return state;
  }

  /** Reports it once an hour while it lasts. */
  #isSpaceLow(): boolean {
    const space = this.#options.space();
    if (space === undefined) return false;
    const { freeBytes, totalBytes: volumeBytes } = space;
    if (!isDiskLow({ freeBytes, volumeBytes })) return false;
    const now = this.#options.clock.monotonicMillis();
    if (now - this.#lowReportedAt >= limits.historySpaceReportMillis) {
      this.#lowReportedAt = now;
      const { historyFreeBytesMin, historyFreeShareMin } = limits;
      const kept = Math.max(historyFreeBytesMin, volumeBytes * historyFreeShareMin);
      const message =
        `The disk of the data folder is nearly full: ${bytesText(freeBytes)} are free, ` +
        `less than ${bytesText(kept)}. Histories shrink to what recovery needs, except where ` +
        '`on-low-disk` is warn';
      this.#options.report({ level: 'error', message });
    }
    return true;
  }

  #complain({ identity }: KeptDatabase, problem: string): void {
    const about = { database: identityToHex(identity) };
    this.#options.report({ level: 'warn', message: `${nameOf(identity)}: ${problem}`, about });
  }
}

function marksOf({ handle }: KeptDatabase): HistoryMarks {
  const { offset: snapshotOffset, logBytes } = handle.statistics().snapshots;
  return { snapshotOffset, logBytes };
}

function nameOf(identity: DatabaseIdentity): string {
  if (identity === registryIdentity) return 'The registry';
  return `Database ${identityToHex(identity)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
