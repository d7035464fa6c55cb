import { setTimeout as sleep } from 'node:timers/promises';
import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { LogName } from '../../shared-log/log-name.ts';
import {
  type AppendItem,
  type AppendResult,
  type ConfirmItem,
  type ConfirmResult,
  type EngineCapabilities,
  EngineError,
  type ReadAnswer,
  type SharedLog,
  type StopSignal,
  type StoredEntry,
} from '../../shared-log/shared-log.ts';
import { changeMark, deletable, marked, readMark } from './first-mark.ts';
import { type KnownEnd, KnownEnds } from './known-ends.ts';
import { entryKey, logFolder, seqIn } from './log-keys.ts';
import { type Clocks, isTooOld, type Moment, machineClocks } from './moment.ts';
import { OpenedStore } from './opened-store.ts';
import type { S3Access } from './s3-place.ts';

/**
 * A shared log in an S3-compatible store. An entry is an object, and a put that fails if there is
 * one is the fence. That says nothing of the entry before: the writer has written or read that one,
 * or it is read now. Positions that were deleted would be free again, so that nothing counts that
 * took longer than a deletion waits.
 */
export class S3Engine implements SharedLog {
  readonly #store: OpenedStore;
  readonly #clocks: Clocks;
  readonly #ends = new KnownEnds();
  readonly #sweeps = new Map<LogName, NodeJS.Timeout>();
  #isClosed = false;

  constructor(store: OpenedStore, clocks: Clocks = machineClocks) {
    this.#store = store;
    this.#clocks = clocks;
  }

  /** `history`: what this host remembers of the store's past. */
  static async open(access: S3Access, history?: string, clocks?: Clocks): Promise<S3Engine> {
    const engine = new S3Engine(new OpenedStore(access, history), clocks);
    await engine.capabilities();
    return engine;
  }

  async append(items: readonly AppendItem[]): Promise<readonly AppendResult[]> {
    assert(items.length <= limits.appendItemsMax, 'too many entries in one append');
    return Promise.all(
      items.map(async (item) => {
        try {
          return await this.#append(item);
        } catch {
          return 'unknown';
        }
      }),
    );
  }

  async #append({ log, seq, bytes, after }: AppendItem): Promise<AppendResult> {
    if (bytes.length > limits.s3EntryBytesMax) return 'unknown';
    if (seq < 1) return 'passed';
    await this.#ready();
    const before = this.#knownBefore(log, seq, after) ?? (await this.#lookBefore(log, seq, after));
    if (before === undefined) return 'passed';
    const begun = this.#clocks.now();
    const result = await this.#store.entries.put(entryKey(log, seq), bytes, 'absent');
    // What was known of the entry before does not count any more: this one may lie in a gap.
    if (isTooOld(before.at, this.#clocks.now())) return 'unknown';
    if (result.kind === 'refused') return 'passed';
    if (result.kind === 'failed') return 'unknown';
    this.#ends.learn(log, { seq, bytes, etag: result.etag }, begun);
    return 'stored';
  }

  /** The entry before as this host knows it, if it is the one that the writer means. */
  #knownBefore(log: LogName, seq: number, after: Uint8Array | undefined): KnownEnd | undefined {
    const known = this.#ends.of(log);
    if (known?.seq !== seq - 1 || isTooOld(known.at, this.#clocks.now())) return undefined;
    return beginsWith(known, after) ? known : undefined;
  }

  /** Reads the entry before; `undefined`: it is not there, not that one, or another follows it. */
  async #lookBefore(
    log: LogName,
    seq: number,
    after: Uint8Array | undefined,
  ): Promise<KnownEnd | undefined> {
    const at = this.#clocks.now();
    const headBytes = Math.max(limits.s3HeadBytes, after?.length ?? 0);
    const { entries } = this.#store;
    const [{ mark }, found] = await Promise.all([
      readMark(entries, logFolder(log), 'write'),
      entries.get(entryKey(log, seq - 1), {
        ...{ urgency: 'write', bytesMax: headBytes, head: headBytes },
      }),
    ]);
    if (mark.first >= seq || found === undefined) return undefined;
    const known = { seq: seq - 1, head: found.bytes, at };
    return beginsWith(known, after) ? known : undefined;
  }

  async read(
    log: LogName,
    from: number,
    bytesMax: number,
    countMax: number = limits.sharedReadEntriesMax,
  ): Promise<ReadAnswer> {
    assert(bytesMax >= limits.s3EntryBytesMax, 'a read has room for one entry');
    await this.#ready();
    const at = this.#clocks.now();
    const width = Math.min(limits.s3TailReads, countMax);
    const [{ mark }, begun] = await Promise.all([
      readMark(this.#store.entries, logFolder(log)),
      this.#pageAt(log, from, width),
    ]);
    const isTruncated = mark.first > from;
    const start = isTruncated ? mark.first : from;
    const page = isTruncated ? await this.#pageAt(log, start, width) : begun;
    const entries = await this.#readOn(log, { start, page, bytesMax, countMax });
    this.#learn(log, start, entries.at(-1), at);
    return { entries: entries.map(({ seq, bytes }) => ({ seq, bytes })), first: mark.first };
  }

  /** Goes on behind a first page, with more at once where entries are small. */
  async #readOn(
    log: LogName,
    { start, page, bytesMax, countMax }: FirstPage,
  ): Promise<FoundEntry[]> {
    const found: FoundEntry[] = [];
    let bytes = 0;
    let largest = smallEntryBytes;
    let { width, entries } = page;
    for (;;) {
      for (const entry of entries) {
        largest = Math.max(largest, entry.bytes.length);
        bytes += entry.bytes.length;
        if (bytes > bytesMax || found.length >= countMax) return found;
        found.push(entry);
      }
      const room = Math.floor((bytesMax - bytes) / largest);
      if (entries.length < width || room < 1 || found.length >= countMax) return found;
      width = Math.min(room, limits.s3ReadsAtOnceMax, countMax - found.length);
      entries = (await this.#pageAt(log, start + found.length, width)).entries;
    }
  }

  /** The entries at so many positions, up to the first at which there is none. */
  async #pageAt(log: LogName, from: number, width: number): Promise<Page> {
    const found = await Promise.all(
      Array.from({ length: width }, (_, index) => this.#entryAt(log, from + index)),
    );
    const end = found.indexOf(undefined);
    const there = end === -1 ? found : found.slice(0, end);
    return { width, entries: there.filter((entry) => entry !== undefined) };
  }

  async #entryAt(log: LogName, seq: number): Promise<FoundEntry | undefined> {
    const found = await this.#store.entries.get(entryKey(log, seq), {
      ...{ urgency: 'read', bytesMax: limits.s3EntryBytesMax },
      known: this.#ends.bytesOf(log, seq),
    });
    return found === undefined ? undefined : { seq, bytes: found.bytes, etag: found.etag };
  }

  #learn(log: LogName, start: number, last: FoundEntry | undefined, at: Moment): void {
    const known = this.#ends.of(log);
    const end = last?.seq ?? start - 1;
    // It was there before this read, and is not any more: the log was removed.
    const isGone = known !== undefined && known.seq > end && known.at.steady < at.steady;
    if (isGone && known.seq >= start) this.#ends.forget(log);
    if (last !== undefined) this.#ends.learn(log, last, at);
  }

  async wait(log: LogName, from: number, signal: StopSignal): Promise<void> {
    await this.#ready();
    const stop = new AbortController();
    const onAbort = (): void => stop.abort();
    signal.addEventListener('abort', onAbort);
    const until = performance.now() + limits.s3WaitMillisMax;
    try {
      // A reader also finds out that what it waits for was deleted: so it may wake early.
      while (!signal.aborted && !this.#isClosed && performance.now() < until) {
        if (await this.#store.entries.has(entryKey(log, from), 'look')) return;
        await sleep(limits.s3LookMillis, undefined, { signal: stop.signal }).catch(() => undefined);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async confirm(items: readonly ConfirmItem[]): Promise<readonly ConfirmResult[]> {
    return Promise.all(
      items.map(async (item) => {
        try {
          return await this.#confirm(item);
        } catch {
          return 'unknown';
        }
      }),
    );
  }

  /**
   * The store shows everybody the same at one moment, so that the next entry is not there says that
   * this one is the last. It may also have been deleted, of which its mark says so long before.
   */
  async #confirm({ log, seq }: ConfirmItem): Promise<ConfirmResult> {
    await this.#ready();
    const begun = this.#clocks.now();
    const known = this.#ends.of(log);
    const isKnown = known?.seq === seq && !isTooOld(known.at, begun);
    const { entries } = this.#store;
    const [hasNext, { mark }, isThere] = await Promise.all([
      entries.has(entryKey(log, seq + 1), 'write'),
      readMark(entries, logFolder(log), 'write'),
      isKnown || entries.has(entryKey(log, seq), 'write'),
    ]);
    if (isTooOld(begun, this.#clocks.now())) return 'unknown';
    if (hasNext || mark.first > seq) return 'passed';
    return isThere ? 'last' : 'unknown';
  }

  async truncate(log: LogName, before: number): Promise<void> {
    await this.#ready();
    const { entries } = this.#store;
    const last = Math.max(-1, ...(await this.#positions(log)));
    if (last === -1) return;
    const first = Math.min(before, last);
    await changeMark(entries, logFolder(log), (mark) =>
      marked(mark, first, Math.round(entries.time())),
    );
    await this.#sweep(log);
  }

  /** Deletes what was marked long enough ago, also what arrived there since. */
  async #sweep(log: LogName): Promise<void> {
    const { entries } = this.#store;
    const folder = logFolder(log);
    const mark = await changeMark(entries, folder, (known) => deletable(known, entries.time()));
    if (mark.deleted > 0) await this.#delete(log, (seq) => seq < mark.deleted);
    if (mark.marks.length > 0) this.#sweepLater(log);
  }

  /** A host that runs so long need not be asked again; otherwise the next truncation does it. */
  #sweepLater(log: LogName): void {
    if (this.#isClosed || this.#sweeps.has(log)) return;
    const timer = setTimeout(() => {
      this.#sweeps.delete(log);
      // What fails is done by the next truncation.
      this.#sweep(log).catch(() => undefined);
    }, limits.s3DeleteAfterMillis + limits.s3WaitMillisMax);
    this.#sweeps.set(log, timer.unref());
  }

  async create(log: LogName, bytes: Uint8Array): Promise<'created' | 'exists' | 'unknown'> {
    if (bytes.length > limits.s3EntryBytesMax) return 'unknown';
    try {
      await this.#ready();
      const { entries } = this.#store;
      const at = this.#clocks.now();
      const { mark } = await readMark(entries, logFolder(log), 'write');
      if (mark.first > 0) return 'exists';
      const result = await entries.put(entryKey(log, 0), bytes, 'absent');
      if (isTooOld(at, this.#clocks.now()) || result.kind === 'failed') return 'unknown';
      if (result.kind === 'refused') return 'exists';
      this.#ends.learn(log, { seq: 0, bytes, etag: result.etag }, at);
      return 'created';
    } catch {
      return 'unknown';
    }
  }

  /** The last entry goes first, so that a log that is half removed still has its beginning. */
  async remove(log: LogName): Promise<void> {
    await this.#ready();
    clearTimeout(this.#sweeps.get(log));
    this.#sweeps.delete(log);
    this.#ends.forget(log);
    await this.#delete(log, () => true);
    await this.#store.entries.delete(`${logFolder(log)}first`);
  }

  async capabilities(): Promise<EngineCapabilities> {
    const isOpen = this.#store.history !== undefined;
    await this.#ready();
    // Whether it can be reached now is part of the answer.
    if (isOpen) await this.#store.time();
    return {
      ...{ copies: 'external', entryBytesMax: limits.s3EntryBytesMax },
      history: this.#store.history ?? '',
      notes: engineNotes,
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#sweeps.values()) clearTimeout(timer);
  }

  async #ready(): Promise<void> {
    if (this.#isClosed) throw new EngineError('The engine was closed.');
    await this.#store.ready();
  }

  async #positions(log: LogName): Promise<number[]> {
    const keys = await this.#store.entries.list(logFolder(log));
    return keys.flatMap(({ key }) => seqIn(key) ?? []);
  }

  async #delete(log: LogName, isMeant: (seq: number) => boolean): Promise<void> {
    const { entries } = this.#store;
    const meant = (await this.#positions(log)).filter(isMeant).sort((one, other) => other - one);
    for (let at = 0; at < meant.length; at += limits.s3ReadsAtOnceMax) {
      const slice = meant.slice(at, at + limits.s3ReadsAtOnceMax);
      await Promise.all(slice.map((seq) => entries.delete(entryKey(log, seq))));
    }
  }
}

interface FoundEntry extends StoredEntry {
  readonly etag: string;
}

interface Page {
  /** Positions that were looked at. */
  readonly width: number;
  readonly entries: readonly FoundEntry[];
}

interface FirstPage {
  readonly start: number;
  readonly page: Page;
  readonly bytesMax: number;
  readonly countMax: number;
}

const engineNotes = [
  ['probe', 'one writer of each name, and everybody sees at once what was written'],
  [
    'fail-over',
    'within 10 s after the loss of a leader, not 5: hosts on a store beat each second, ' +
      'and wait 6 s',
  ],
] as const;

/** What a small entry is taken for, when it is judged how many fit. */
const smallEntryBytes = 1_024;

/** Whether an entry begins with what a writer names as the beginning of the one before. */
function beginsWith({ head }: KnownEnd, after: Uint8Array = new Uint8Array(0)): boolean {
  return after.length <= head.length && Buffer.compare(head.subarray(0, after.length), after) === 0;
}
