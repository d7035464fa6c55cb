import { limits } from '../limits.ts';
import { chainOf } from '../log/log-point.ts';
import { MachineDisk } from '../node/disk.ts';
import type { Report } from '../node/report-line.ts';
import { lastSeq } from '../shared-log/find-start.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type { SharedLog } from '../shared-log/shared-log.ts';
import type { StoredSnapshots } from '../shared-log/stored-snapshots.ts';
import { truncationPlace } from '../shared-log/truncation.ts';
import { newestSnapshot, partsOf } from './local-snapshot.ts';

/** The log of a database that this host leads. */
export interface LedLog {
  readonly log: LogName;
  /** How messages call its database. */
  readonly shown: string;
  /** Where its files are. */
  readonly directory: string;
  /** What each other host has of it that lives, by its name; absent: it has nothing yet. */
  readonly others: ReadonlyMap<string, number>;
}

export interface LogKeeperOptions {
  readonly sharedLog: SharedLog;
  /** `undefined`: there is no place for snapshots, and nothing is removed. */
  readonly snapshotsOf: (log: LogName) => StoredSnapshots | undefined;
  /** Those that this host leads now. */
  readonly led: () => Promise<readonly LedLog[]>;
  readonly now: () => number;
  readonly report: Report;
  readonly bounds?: Partial<KeptBounds>;
}

export interface KeptBounds {
  /** Entries stay so long in any case. */
  readonly keptMillis: number;
  /** A host that is behind is waited for so long, and for so many bytes of the log. */
  readonly behindMillisMax: number;
  readonly behindBytesMax: number;
  readonly restartEvery: number;
}

/** What is known of one log since this host leads it. */
interface Known {
  /** Where the log ended at some moments, the oldest first. */
  readonly ends: { readonly at: number; readonly seq: number }[];
  /** Since when each host is behind of what would be removed. */
  readonly behindSince: Map<string, number>;
}

/**
 * Keeps the shared logs short of the databases that a host leads: stores the snapshots that their
 * actors have taken, and then removes what the second newest one has, and no host waits for.
 */
export class LogKeeper {
  readonly #options: LogKeeperOptions;
  readonly #bounds: KeptBounds;
  readonly #known = new Map<LogName, Known>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: LogKeeperOptions) {
    this.#options = options;
    this.#bounds = {
      keptMillis: limits.logKeptMillis,
      behindMillisMax: limits.logBehindMillisMax,
      behindBytesMax: limits.logBehindBytesMax,
      restartEvery: limits.restartEveryEntries,
      ...options.bounds,
    };
  }

  /** Looks again and again. */
  start(everyMillis: number = limits.logKeepLookMillis): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.look().finally(() => this.start(everyMillis));
    }, everyMillis).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking.catch(() => undefined);
  }

  /** Does what is due for each log. What fails is reported, and tried at the next look. */
  async look(): Promise<void> {
    const led = await this.#options.led();
    const names = new Set(led.map(({ log }) => log));
    for (const log of this.#known.keys()) if (!names.has(log)) this.#known.delete(log);
    for (const one of led) {
      if (this.#isClosed) return;
      try {
        await this.#keep(one);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        const message = `The shared log of ${one.shown} is not shortened now: ${reason}`;
        this.#options.report({ level: 'warn', message });
      }
    }
  }

  async #keep(led: LedLog): Promise<void> {
    const snapshots = this.#options.snapshotsOf(led.log);
    if (snapshots === undefined) return;
    const known = this.#known.get(led.log) ?? { ends: [], behindSince: new Map() };
    this.#known.set(led.log, known);
    await this.#noteEnd(led.log, known);
    await this.#storeNewest(led, snapshots);
    const [newest, second, ...older] = await snapshots.all();
    if (newest === undefined || second === undefined) return;
    await this.#truncate(led, known, second.position);
    for (const one of older) await snapshots.remove(one);
  }

  async #noteEnd(log: LogName, { ends }: Known): Promise<void> {
    const at = this.#options.now();
    ends.push({ at, seq: await lastSeq(this.#options.sharedLog, log) });
    // Of those that are old enough, the newest says all.
    while (ends[1] !== undefined && ends[1].at <= at - this.#bounds.keptMillis) ends.shift();
  }

  /** The newest snapshot beside the local log, if the store has none like it. */
  async #storeNewest({ log, directory }: LedLog, snapshots: StoredSnapshots): Promise<void> {
    const disk = new MachineDisk(directory);
    const found = newestSnapshot(disk);
    if (found === undefined) return;
    const { name, place } = found;
    const [newest] = await snapshots.all();
    if (newest !== undefined && newest.offset >= place.offset) return;
    const { offset, position, chainLow, chainHigh } = place;
    const bounds = { position, offset, seq: Number.MAX_SAFE_INTEGER };
    const { sharedLog } = this.#options;
    const before = await truncationPlace(sharedLog, log, bounds, this.#bounds.restartEvery);
    const chain = chainOf(chainLow, chainHigh);
    const parts = partsOf(disk, name);
    await snapshots.add({ offset, position, chain, seq: before?.seq ?? 0 }, parts);
  }

  async #truncate({ log, shown, others }: LedLog, known: Known, position: number): Promise<void> {
    const { sharedLog, now, report } = this.#options;
    const { keptMillis, restartEvery, behindBytesMax } = this.#bounds;
    const old = known.ends.findLast(({ at }) => at <= now() - keptMillis);
    if (old === undefined) return;
    const all = { position, offset: Number.MAX_SAFE_INTEGER, seq: old.seq };
    const place = await truncationPlace(sharedLog, log, all, restartEvery);
    if (place === undefined) return;
    const waitedFor = this.#waitedFor(others, known, place.offset);
    const bounds = { ...all, offset: Math.min(place.offset, ...waitedFor) };
    const within = await truncationPlace(sharedLog, log, bounds, restartEvery);
    const isFar = place.position - (within?.position ?? 0) > behindBytesMax;
    const to = isFar ? place : within;
    if (to === undefined) return;
    await sharedLog.truncate(log, to.seq);
    const message = `The shared log of ${shown} begins with entry ${to.seq} from now on`;
    report({ level: 'info', message });
  }

  /** The offsets of hosts that are behind, and not for too long. */
  #waitedFor(
    others: ReadonlyMap<string, number>,
    { behindSince }: Known,
    offset: number,
  ): readonly number[] {
    const at = this.#options.now();
    const behind = [...others].filter(([, has]) => has < offset);
    const names = new Set(behind.map(([name]) => name));
    for (const name of behindSince.keys()) if (!names.has(name)) behindSince.delete(name);
    for (const name of names) if (!behindSince.has(name)) behindSince.set(name, at);
    const isWaitedFor = (name: string): boolean =>
      at - (behindSince.get(name) ?? at) < this.#bounds.behindMillisMax;
    return behind.filter(([name]) => isWaitedFor(name)).map(([, has]) => has);
  }
}
