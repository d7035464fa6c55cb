import type { LogName } from './log-name.ts';

/**
 * The log of one generation of a database, in an engine that several hosts reach: entries, numbered
 * densely by `seq` from 0. Implementations never try again and never wait longer than the engine
 * does: both are the caller's matter. One contract suite holds for all of them.
 *
 * Assumed of an engine, and of nothing else:
 *
 * - **A1** `append` is atomic and linearizable: entry `seq` is stored at most once, and only after
 *   `seq - 1`;
 * - **A2** what was answered `stored`, and everything before it, is in every later history of the
 *   engine, its own fail-overs included;
 * - **A3** bytes come back as they were stored, or a check of theirs fails.
 */
export interface SharedLog {
  /**
   * Each item: stores `bytes` as entry `seq` if `seq - 1` is the last entry of `log`, and begins
   * with `after`. The items are independent, at most `limits.appendItemsMax`, with a log of its own
   * each; the answers are in
   * their order. Never rejects: what failed is `unknown`.
   */
  append(items: readonly AppendItem[]): Promise<readonly AppendResult[]>;
  /**
   * Entries from `from` on, as far as the engine shows them, whole ones, together at most
   * `bytesMax`, which has room for one entry of any size, and at most `countMax`, or
   * `limits.sharedReadEntriesMax`. `first` is the oldest that is kept; a log
   * that is not there has none, and `first` 0. Being shown does not make an entry settled. Rejects
   * with `EngineError`.
   */
  read(log: LogName, from: number, bytesMax: number, countMax?: number): Promise<ReadAnswer>;
  /**
   * Resolves soon after an entry `from` or a later one may be there; also earlier, and when
   * `signal` stops it. Rejects with `EngineError`.
   */
  wait(log: LogName, from: number, signal: StopSignal): Promise<void>;
  /**
   * Entries from `from` on that the leader of a log has sent this host, in a row, without asking
   * the engine; each once. None: nothing came, or not in a row. Absent: leaders send nothing here.
   */
  streamed?(log: LogName, from: number): Promise<readonly StreamedEntry[]>;
  /**
   * `last` only if, at some moment after the call began, `seq` was the last entry in acknowledged
   * history; `passed` only if there was a later one. Never rejects.
   */
  confirm(items: readonly ConfirmItem[]): Promise<readonly ConfirmResult[]>;
  /** Removes entries below `before`; never the last one. Rejects with `EngineError`. */
  truncate(log: LogName, before: number): Promise<void>;
  /** Stores entry 0 of a log that has none. Never rejects. */
  create(log: LogName, bytes: Uint8Array): Promise<'created' | 'exists' | 'unknown'>;
  /** Removes all entries; a log that is not there counts as removed. Rejects with `EngineError`. */
  remove(log: LogName): Promise<void>;
  /** Rejects with `EngineError`. */
  capabilities(): Promise<EngineCapabilities>;
}

export interface AppendItem {
  readonly log: LogName;
  readonly seq: number;
  readonly bytes: Uint8Array;
  /**
   * How the entry before begins, as far as the writer knows. An engine may show entries that its
   * fail-over then drops; without this, an append behind such a one could land behind whatever took
   * its place. Absent: any entry will do.
   */
  readonly after?: Uint8Array | undefined;
}

/**
 * `stored`: by the engine's own acknowledgement, on its quorum. `passed`: the engine proved that
 * entry `seq` is there, or that `seq - 1` is not, or is another. Everything else is `unknown`.
 */
export type AppendResult = 'stored' | 'passed' | 'unknown';

export interface ConfirmItem {
  readonly log: LogName;
  readonly seq: number;
}

export type ConfirmResult = 'last' | 'passed' | 'unknown';

export interface StoredEntry {
  readonly seq: number;
  readonly bytes: Uint8Array;
}

/** An entry that was `stored`, as its leader sends it on, and how the one before it begins. */
export interface StreamedEntry extends StoredEntry {
  readonly after: Uint8Array;
}

export interface ReadAnswer {
  readonly entries: readonly StoredEntry[];
  readonly first: number;
}

export interface EngineCapabilities {
  /** Copies that hold an entry when it is `stored`, the first included. */
  readonly copies: number | 'external' | 'unknown';
  readonly entryBytesMax: number;
  /** Names the engine's own past; see `engine-history.ts`. */
  readonly history: string;
  /** What else an operator should know of it, by what each is about. */
  readonly notes?: readonly (readonly [about: string, text: string])[] | undefined;
}

/** What an `AbortSignal` is where there is no such name. */
export interface StopSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The engine cannot be reached, or did not do what it was asked. Messages hold no secrets. */
export class EngineError extends Error {
  override readonly name: string = 'EngineError';
}
