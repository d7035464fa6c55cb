import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { type AppendOutcome, type AppendPace, runAppend } from './append-run.ts';
import { encodeEntry, entryHeaderBytes, entryKinds, isSameEntry } from './entry.ts';
import { encodeLead, type Lead } from './entry-payloads.ts';
import type { BootId } from './host-ids.ts';
import { KeptEntries } from './kept-entries.ts';
import type { LogName } from './log-name.ts';
import { draftsOf, type RecordsDraft, writeBytes } from './log-write.ts';
import { ReadProofs } from './read-proofs.ts';
import type { AppendResult, SharedLog, StoredEntry } from './shared-log.ts';

/** The term was given to another host, in entry `seq`, behind everything that ends at `at`. */
export interface Handed {
  readonly kind: 'handedOver';
  readonly seq: number;
  readonly term: number;
  readonly to: Lead;
  readonly at: LogPoint;
}

/** Why a leader's writing ended. */
export type ReplicatorEnd =
  /** Another host leads. */
  | { readonly kind: 'overtaken' }
  | Handed
  /** The engine lost acknowledged entries, and they could not be restored. */
  | { readonly kind: 'diverged'; readonly reason: string }
  /** The local log failed. */
  | { readonly kind: 'localFailure'; readonly cause: unknown }
  | { readonly kind: 'stopped' };

export interface ReplicatorOptions {
  readonly sharedLog: SharedLog;
  readonly log: LogName;
  readonly term: number;
  readonly boot: BootId;
  readonly entryBytesMax: number;
  /** The entry that gave this host the term, or the empty one behind it, and where the log is. */
  readonly start: StoredEntry;
  readonly point: LogPoint;
  /** Entries at multiples of `every` say how the log can be read on from there, if they can. */
  readonly restart?: {
    readonly every: number;
    readonly payload: () => Uint8Array | undefined;
  };
  /** Makes everything that was written to the local log durable. Absent: nobody waits for it. */
  readonly localSync: (() => Promise<void>) | undefined;
  readonly now: () => number;
  readonly pause: (millis: number) => Promise<void>;
  readonly onAcknowledged?: (offset: number) => void;
  readonly onResult?: (result: AppendResult) => void;
  /** Full sentences about what the engine lost and this host restored. */
  readonly warn?: (message: string) => void;
  readonly onEnd: (end: ReplicatorEnd) => void;
}

/** What a leader that has ended answers to those who wait for it. */
export class ReplicatorEndedError extends Error {
  override readonly name = 'ReplicatorEndedError';
  readonly end: ReplicatorEnd;

  constructor(end: ReplicatorEnd) {
    super(`this host does not write to the shared log any more: ${end.kind}`);
    this.end = end;
  }
}

interface Waiter {
  readonly writeNumber: number;
  readonly resolve: () => void;
  readonly reject: (error: ReplicatorEndedError) => void;
}

/**
 * A leader's way into the shared log. Writes of the local log gather while an append is in flight;
 * the next one carries them all. There is never more than one: an entry can then not land behind
 * that of a successor. A write is **acknowledged** when its entry is stored and the local log is
 * synced up to it; both begin together.
 *
 * ```
 *  write() ──▶ queue ──┬──▶ append, until its fate is known ──▶ storedWrite ──┐
 *                      └──▶ local sync ────────────────────────▶ localWrite ──┴──▶ min: sync()
 * ```
 */
export class Replicator {
  readonly #options: ReplicatorOptions;
  readonly #kept = new KeptEntries();
  readonly #proofs: ReadProofs;
  #queue: LogWrite[] = [];
  #queuedBytes = 0;
  /** Where the log ends with all that was queued, and with all that was made an entry. */
  #queuedEnd: LogPoint;
  #sentEnd: LogPoint;
  #last: StoredEntry;
  /** Number of the last write that was queued, stored and synced; writes count from 1. */
  #queuedWrite = 0;
  #storedWrite = 0;
  #localWrite = 0;
  /** Offsets at writes that are not acknowledged yet, in order. */
  #offsets: { readonly writeNumber: number; readonly offset: number }[] = [];
  #acknowledged: number;
  #announced: number;
  #waiters: Waiter[] = [];
  #isRunning = false;
  #isAnnounceDue = false;
  #isInParts = false;
  #handOver: Lead | undefined;
  #provenAt: number;
  #end: ReplicatorEnd | undefined;

  constructor(options: ReplicatorOptions) {
    this.#options = options;
    this.#queuedEnd = options.point;
    this.#sentEnd = options.point;
    this.#last = options.start;
    this.#kept.add(options.start);
    // Everything before this term is settled by its first entry.
    this.#acknowledged = options.point.offset;
    this.#announced = 0;
    this.#provenAt = options.now();
    const { sharedLog, log, pause } = options;
    this.#proofs = new ReadProofs({
      confirm: async () => {
        const begunAt = options.now();
        const [result = 'unknown'] = await sharedLog.confirm([{ log, seq: this.#last.seq }]);
        if (result === 'last') this.#provenAt = Math.max(this.#provenAt, begunAt);
        return result;
      },
      pause,
      // It may be this host's own append; one more finds out.
      onPassed: () => this.announce(),
    });
  }

  /** Largest offset that was acknowledged. */
  get acknowledgedOffset(): number {
    return this.#acknowledged;
  }

  /** Where the log ends with everything that was given to `write`. */
  get end(): LogPoint {
    return this.#queuedEnd;
  }

  get lastSeq(): number {
    return this.#last.seq;
  }

  /** Header of the last entry that was stored. */
  get lastHeader(): Uint8Array {
    return this.#last.bytes.subarray(0, entryHeaderBytes);
  }

  /** Where the log ends with everything that was stored. */
  get storedEnd(): LogPoint {
    return this.#sentEnd;
  }

  /** When the last append or confirmation began that came back. */
  get provenAt(): number {
    return this.#provenAt;
  }

  /** True while so much waits that the database must take no further turn. */
  get isFull(): boolean {
    return this.#queuedBytes >= limits.replicatorQueueBytesMax;
  }

  /** True if it takes no more writes because the term is being given away. */
  get isHandingOver(): boolean {
    return this.#handOver !== undefined;
  }

  /**
   * Takes what the local log has just written. Costs no I/O. The bytes must stay as they are. Who
   * writes looks at `isFull` before; what a log has already when a term begins goes in whole.
   */
  write(write: LogWrite): void {
    if (this.#end !== undefined) throw new ReplicatorEndedError(this.#end);
    assert(this.#handOver === undefined, 'nothing is written behind a hand-over');
    const length = write.end.position - this.#queuedEnd.position;
    assert(length === write.records.length, 'a write continues the one before it');
    this.#queue.push(write);
    this.#queuedBytes += writeBytes(write);
    this.#queuedEnd = write.end;
    this.#queuedWrite++;
    this.#offsets.push({ writeNumber: this.#queuedWrite, offset: write.end.offset });
    this.#start();
  }

  /** Resolves when everything written before the call is acknowledged. */
  sync(): Promise<void> {
    if (this.#end !== undefined) return Promise.reject(new ReplicatorEndedError(this.#end));
    const writeNumber = this.#queuedWrite;
    if (this.#acknowledgedWrite >= writeNumber) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ writeNumber, resolve, reject }));
  }

  /** Resolves when it is proved that this host led after the call; for confirmed reads. */
  proof(): Promise<void> {
    if (this.#end !== undefined) return Promise.reject(new ReplicatorEndedError(this.#end));
    return this.#proofs.wait();
  }

  /** Tells followers what is settled, by an empty entry, unless an entry has said so already. */
  announceSettled(): void {
    if (this.#announced < this.#acknowledged) this.announce();
  }

  /** Appends an empty entry, or whatever waits. */
  announce(): void {
    if (this.#end !== undefined || this.#handOver !== undefined) return;
    this.#isAnnounceDue = true;
    this.#start();
  }

  /** Gives the next term to another host, behind everything that was written. */
  handOver(to: Lead): void {
    if (this.#end !== undefined || this.#handOver !== undefined) return;
    this.#handOver = to;
    this.#start();
  }

  /** Ends it; appends that are under way may still be stored. */
  stop(): void {
    this.#finish({ kind: 'stopped' });
  }

  get #acknowledgedWrite(): number {
    const { localSync } = this.#options;
    return localSync === undefined
      ? this.#storedWrite
      : Math.min(this.#storedWrite, this.#localWrite);
  }

  #start(): void {
    if (this.#isRunning || this.#end !== undefined) return;
    this.#isRunning = true;
    this.#run().catch((cause: unknown) => this.#finish({ kind: 'localFailure', cause }));
  }

  async #run(): Promise<void> {
    // What is written in the same turn goes with the first append.
    await undefined;
    while (this.#end === undefined) {
      if (this.#queue.length > 0) await this.#sendQueue();
      else if (this.#handOver !== undefined) await this.#sendHandOver(this.#handOver);
      else if (this.#isAnnounceDue) await this.#sendEmpty();
      else break;
    }
    this.#isRunning = false;
  }

  /** Everything that waits, as one entry, or as several where it does not fit into one. */
  async #sendQueue(): Promise<void> {
    const payloadBytesMax = this.#options.entryBytesMax - entryHeaderBytes;
    const writeNumber = this.#queuedWrite;
    const drafts = draftsOf(this.#queue, this.#sentEnd, payloadBytesMax);
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#syncLocally(writeNumber);
    for (const draft of drafts) {
      const isInParts = this.#isInParts;
      this.#isInParts = draft.kind === entryKinds.part;
      if (!isInParts && !(await this.#sendRestart())) return;
      if (!(await this.#send(this.#entryOf(draft), draft.end))) return;
      this.#sentEnd = draft.end;
    }
    this.#storedWrite = writeNumber;
    this.#acknowledge();
  }

  /** False if that ended this host's term. */
  async #sendRestart(): Promise<boolean> {
    const { restart, term } = this.#options;
    const seq = this.#last.seq + 1;
    if (restart === undefined || seq % restart.every !== 0) return true;
    const payload = restart.payload();
    if (payload === undefined) return true;
    const bytes = this.#encode({ seq, term, kind: entryKinds.restart, payload });
    return this.#send({ seq, bytes }, this.#sentEnd);
  }

  async #sendEmpty(): Promise<void> {
    if (!(await this.#sendRestart())) return;
    const seq = this.#last.seq + 1;
    await this.#send({ seq, bytes: this.#emptyAt(seq, this.#sentEnd) }, this.#sentEnd);
  }

  async #sendHandOver(to: Lead): Promise<void> {
    const seq = this.#last.seq + 1;
    const payload = encodeLead(to);
    const { term } = this.#options;
    const bytes = this.#encode({ seq, term: term + 1, kind: entryKinds.term, payload });
    const outcome = await this.#append({ seq, bytes }, undefined);
    if (outcome.kind === 'stored' || outcome.kind === 'seen') {
      this.#finish({ kind: 'handedOver', seq, term: term + 1, to, at: this.#sentEnd });
    } else this.#finish(endOf(outcome));
  }

  /** Stores one entry, behind which the log ends at `end`; false if that ended this host's term. */
  async #send(entry: StoredEntry, end: LogPoint): Promise<boolean> {
    this.#isAnnounceDue = false;
    for (;;) {
      const outcome = await this.#append(entry, end);
      if (outcome.kind === 'stored') {
        for (const one of outcome.entries) this.#kept.add(one);
        this.#last = outcome.entries.at(-1) ?? entry;
        return true;
      }
      const isRestored = outcome.kind === 'behind' && (await this.#restore());
      if (isRestored) continue;
      if (this.#end === undefined) this.#finish(endOf(outcome));
      return false;
    }
  }

  /** `end` is absent where an entry of this host may follow no more. */
  async #append(entry: StoredEntry, end: LogPoint | undefined): Promise<AppendOutcome> {
    const { sharedLog, log, now } = this.#options;
    const begunAt = now();
    const announced = this.#acknowledged;
    const prove = this.#proofs.append();
    const previous = this.#last.bytes;
    const emptyAt = end === undefined ? undefined : (seq: number) => this.#emptyAt(seq, end);
    const attempt = { log, entry, previous, emptyAt };
    const outcome = await runAppend(sharedLog, attempt, this.#pace());
    if (outcome.kind === 'stored') {
      this.#provenAt = Math.max(this.#provenAt, begunAt);
      this.#announced = Math.max(this.#announced, announced);
      prove();
    }
    return outcome;
  }

  /**
   * The engine lacks what it acknowledged. Appends the missing entries again, if its end is an
   * entry
   * of this host's term and this host has all that followed. Returns false if that ended the term.
   */
  async #restore(): Promise<boolean> {
    const { warn } = this.#options;
    const lost = await this.#lostEntries();
    if (lost === undefined) return false;
    let previous = lost.previous;
    for (const entry of lost.entries) {
      const { sharedLog, log } = this.#options;
      const attempt = { log, entry, previous: previous.bytes, emptyAt: undefined };
      const outcome = await runAppend(sharedLog, attempt, this.#pace());
      // One that is seen and not acknowledged is settled by the next, and the last by what follows.
      if (outcome.kind !== 'stored' && outcome.kind !== 'seen') {
        this.#finish(endOf(outcome));
        return false;
      }
      previous = entry;
    }
    const first = lost.entries[0]?.seq;
    if (first !== undefined) {
      warn?.(
        `The engine lost acknowledged entries ${first} to ${previous.seq}; they are restored.`,
      );
    }
    return true;
  }

  async #lostEntries(): Promise<
    { readonly previous: StoredEntry; readonly entries: readonly StoredEntry[] } | undefined
  > {
    const { sharedLog, log, pause } = this.#options;
    while (this.#end === undefined) {
      try {
        for (let seq = this.#last.seq; ; seq--) {
          const known = this.#kept.at(seq);
          if (known === undefined) break;
          const { entries } = await sharedLog.read(log, seq, limits.sharedReadBytesMax);
          const found = entries[0];
          if (found === undefined) continue;
          if (found.seq !== seq || !isSameEntry(found.bytes, known.bytes)) break;
          const missing = Array.from({ length: this.#last.seq - seq }, (_, index) => {
            return this.#kept.at(seq + 1 + index) as StoredEntry;
          });
          return { previous: known, entries: missing };
        }
        const reason =
          `The engine has lost acknowledged entries before ${this.#last.seq} that this host ` +
          'cannot restore.';
        this.#finish({ kind: 'diverged', reason });
      } catch {
        await pause(limits.appendRetryMillisMax);
      }
    }
    return undefined;
  }

  #pace(): AppendPace {
    const { pause, onResult } = this.#options;
    const isStopped = () => this.#end !== undefined;
    return onResult === undefined ? { pause, isStopped } : { pause, isStopped, onResult };
  }

  #syncLocally(writeNumber: number): void {
    const { localSync } = this.#options;
    localSync?.().then(
      () => {
        this.#localWrite = Math.max(this.#localWrite, writeNumber);
        this.#acknowledge();
      },
      (cause: unknown) => this.#finish({ kind: 'localFailure', cause }),
    );
  }

  #acknowledge(): void {
    if (this.#end !== undefined) return;
    const writeNumber = this.#acknowledgedWrite;
    const count = this.#offsets.findIndex((one) => one.writeNumber > writeNumber);
    const done = this.#offsets.splice(0, count === -1 ? this.#offsets.length : count);
    const offset = done.at(-1)?.offset ?? this.#acknowledged;
    if (offset > this.#acknowledged) {
      this.#acknowledged = offset;
      this.#options.onAcknowledged?.(offset);
    }
    const ready = this.#waiters.filter((waiter) => waiter.writeNumber <= writeNumber);
    this.#waiters = this.#waiters.filter((waiter) => waiter.writeNumber > writeNumber);
    for (const { resolve } of ready) resolve();
  }

  #finish(end: ReplicatorEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const error = new ReplicatorEndedError(end);
    for (const { reject } of this.#waiters.splice(0)) reject(error);
    this.#proofs.end(error);
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#options.onEnd(end);
  }

  #entryOf(draft: RecordsDraft): StoredEntry {
    const seq = this.#last.seq + 1;
    const { term, boot } = this.#options;
    const { kind, payload, startsSegment, from, end } = draft;
    const bytes = encodeEntry({
      ...{ kind, seq, term, boot, payload, startsSegment, acknowledged: this.#acknowledged },
      ...{ position: from.position, chain: from.chain },
      ...{ offset: end.offset, chainAfter: end.chain },
    });
    return { seq, bytes };
  }

  #emptyAt(seq: number, at: LogPoint): Uint8Array {
    const { term } = this.#options;
    return this.#encode({ seq, term, kind: entryKinds.empty, payload: new Uint8Array(0), at });
  }

  /** An entry without records. */
  #encode(made: {
    readonly seq: number;
    readonly term: number;
    readonly kind: (typeof entryKinds)['empty' | 'term' | 'restart'];
    readonly payload: Uint8Array;
    readonly at?: LogPoint;
  }): Uint8Array {
    const { boot } = this.#options;
    const { at = this.#sentEnd, ...more } = made;
    return encodeEntry({
      ...{ ...more, boot, startsSegment: false, acknowledged: this.#acknowledged },
      ...{ position: at.position, chain: at.chain, offset: at.offset, chainAfter: at.chain },
    });
  }
}

function endOf(outcome: AppendOutcome): ReplicatorEnd {
  if (outcome.kind === 'overtaken') return { kind: 'overtaken' };
  if (outcome.kind === 'stopped') return { kind: 'stopped' };
  return { kind: 'diverged', reason: 'The engine has lost acknowledged entries.' };
}
