import type { LogName } from './log-name.ts';
import type { AppendItem, EngineError, ReadAnswer } from './shared-log.ts';

/** An answer that may come later. */
export interface ServerAnswer<T> {
  whenDone(take: (answer: T | EngineError) => void): void;
}

/** What an append is answered with: `noticed` is success with a warning beside it. */
export type ServerResult = 'stored' | 'noticed' | 'refused' | 'broken';

export interface ServerWorld {
  /** Runs `done` when the standby would have what it is sent now. */
  readonly replicate: (done: () => void) => void;
  readonly isStandbyAway: () => boolean;
  readonly isLying: () => boolean;
}

interface Held {
  readonly bytes: Uint8Array;
  /** In the order in which the standby gets it. */
  readonly number: number;
  isVisible: boolean;
  isReplicated: boolean;
  /** Answers the writer, who waits for the standby. */
  answer: ((result: ServerResult) => void) | undefined;
  /** Others who want the same seq, and wait for this one's outcome. */
  readonly behind: (() => void)[];
}

interface HeldLog {
  first: number;
  readonly entries: Held[];
}

/** One server of the simulated engine. What it acknowledges is on its standby, unless it lies. */
export class MemoryServer {
  readonly #world: ServerWorld;
  readonly #logs = new Map<LogName, HeldLog>();
  /** Entries that the standby lacks, in order. */
  #lacking: Held[] = [];
  #stored = 0;
  #isRetired = false;

  constructor(world: ServerWorld) {
    this.#world = world;
  }

  append({ log, seq, bytes, after }: AppendItem): ServerAnswer<ServerResult> {
    return {
      whenDone: (take) => {
        const held = this.#logs.get(log);
        const taken = entryAt(held, seq);
        if (taken !== undefined) {
          // The writer of the key waits for the standby; others who want it wait for that writer.
          if (taken.isVisible) take('refused');
          else taken.behind.push(() => take('refused'));
          return;
        }
        const before = entryAt(held, seq - 1);
        if (held === undefined || before?.isVisible !== true) return take('refused');
        if (after !== undefined && !beginsWith(before.bytes, after)) return take('refused');
        this.#store(held, bytes, take);
      },
    };
  }

  create(log: LogName, bytes: Uint8Array): ServerAnswer<ServerResult> {
    return {
      whenDone: (take) => {
        if (this.#logs.has(log)) return take('refused');
        const held = { first: 0, entries: [] };
        this.#logs.set(log, held);
        this.#store(held, bytes, take);
      },
    };
  }

  read(log: LogName, from: number, bytesMax: number, countMax: number): ReadAnswer {
    const held = this.#logs.get(log);
    const first = held?.first ?? 0;
    const entries: { seq: number; bytes: Uint8Array }[] = [];
    let room = bytesMax;
    for (let seq = Math.max(from, first); entries.length < countMax; seq++) {
      const entry = entryAt(held, seq);
      if (entry?.isVisible !== true || entry.bytes.length > room) break;
      room -= entry.bytes.length;
      entries.push({ seq, bytes: entry.bytes.slice() });
    }
    return { entries, first };
  }

  /** Seq of the last entry that is shown; -1 if there is none. */
  lastShown(log: LogName): number {
    const held = this.#logs.get(log);
    if (held === undefined) return -1;
    let seq = held.first + held.entries.length - 1;
    while (seq >= held.first && entryAt(held, seq)?.isVisible !== true) seq--;
    return seq >= held.first ? seq : -1;
  }

  /** A write of its own, which the standby must have before it is answered. */
  touch(): ServerAnswer<ServerResult> {
    return {
      whenDone: (take) => {
        if (this.#isRetired) return;
        if (this.#world.isLying()) return take('stored');
        if (this.#world.isStandbyAway()) this.#touches.push(take);
        else this.#world.replicate(() => (this.#isRetired ? undefined : take('stored')));
      },
    };
  }

  readonly #touches: ((result: ServerResult) => void)[] = [];

  truncate(log: LogName, before: number): void {
    const held = this.#logs.get(log);
    if (held === undefined) return;
    const last = this.lastShown(log);
    const count = Math.min(before, last) - held.first;
    if (count <= 0) return;
    held.entries.splice(0, count);
    held.first += count;
  }

  remove(log: LogName): void {
    this.#logs.delete(log);
  }

  settledEntries(log: LogName): readonly Uint8Array[] {
    const entries = this.#logs.get(log)?.entries ?? [];
    return entries.filter((entry) => entry.isReplicated).map((entry) => entry.bytes);
  }

  /** The standby is back: it is sent everything that it lacks. */
  replicateSoon(): void {
    const last = this.#lacking.at(-1);
    if (last !== undefined) this.#replicate(last);
    for (const take of this.#touches.splice(0)) this.#world.replicate(() => take('stored'));
  }

  cancelWaits(): void {
    for (const entry of this.#waiting()) this.#settle(entry, 'noticed');
  }

  restart(): void {
    for (const entry of this.#waiting()) this.#settle(entry, 'broken');
    this.#touches.splice(0);
  }

  /** It is no primary any more: nothing that it stores is acknowledged. */
  retire(): void {
    this.#isRetired = true;
  }

  /** A server with what the standby of this one has. */
  promoted(world: ServerWorld): MemoryServer {
    const other = new MemoryServer(world);
    for (const [log, held] of this.#logs) {
      const end = held.entries.findIndex((entry) => !entry.isReplicated);
      const kept = end === -1 ? held.entries : held.entries.slice(0, end);
      if (kept.length === 0) continue;
      const entries = kept.map(({ bytes, number }) => {
        const shown = { isVisible: true, isReplicated: true, answer: undefined };
        return { bytes, number, ...shown, behind: [] };
      });
      other.#logs.set(log, { first: held.first, entries });
    }
    other.#stored = this.#stored;
    return other;
  }

  #store(held: HeldLog, bytes: Uint8Array, take: (result: ServerResult) => void): void {
    const isLying = this.#world.isLying() && !this.#isRetired;
    const entry: Held = {
      bytes: bytes.slice(),
      number: this.#stored++,
      isVisible: isLying,
      isReplicated: false,
      answer: isLying ? undefined : take,
      behind: [],
    };
    held.entries.push(entry);
    this.#lacking.push(entry);
    if (isLying) take('stored');
    this.#replicate(entry);
  }

  #replicate(entry: Held): void {
    if (this.#isRetired || this.#world.isStandbyAway()) return;
    this.#world.replicate(() => {
      if (this.#isRetired || this.#world.isStandbyAway()) return;
      // The standby gets what the primary wrote in the order in which it wrote it.
      const end = this.#lacking.findIndex((one) => one.number > entry.number);
      for (const one of this.#lacking.splice(0, end === -1 ? this.#lacking.length : end)) {
        one.isReplicated = true;
        this.#settle(one, 'stored');
      }
    });
  }

  /** The entry is shown, its writer is answered, and those behind it go on. */
  #settle(entry: Held, result: ServerResult): void {
    const { answer } = entry;
    entry.isVisible = true;
    entry.answer = undefined;
    if (result !== 'broken') answer?.(result);
    for (const next of entry.behind.splice(0)) next();
  }

  #waiting(): Held[] {
    return this.#lacking.filter((entry) => entry.answer !== undefined);
  }
}

function entryAt(held: HeldLog | undefined, seq: number): Held | undefined {
  return held === undefined || seq < held.first ? undefined : held.entries[seq - held.first];
}

/** Whether an entry is the one that a writer takes it for. */
export function beginsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  return beginning.every((byte, at) => bytes[at] === byte);
}
