import { limits } from '../limits.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type { StreamedEntry } from '../shared-log/shared-log.ts';
import type { LinkStream } from './link-client.ts';
import { encodeStreamFrame, type StreamFrame, StreamFrames } from './stream-frames.ts';

interface Wanted {
  /** True: whatever its leader stores from now on comes. */
  isBegun: boolean;
  /** In a row, and not taken yet. */
  entries: StreamedEntry[];
  bytes: number;
  wantedAt: number;
  readonly waiting: Set<() => void>;
}

/** Entries that another host sends this one, of the logs that it leads and this one follows. */
export class StreamReceiver {
  readonly #wanted = new Map<LogName, Wanted>();
  readonly #frames = new StreamFrames();
  readonly #link: LinkStream;
  readonly #onEnd: () => void;
  readonly #timer: NodeJS.Timeout;
  #heardAt = performance.now();
  #bytes = 0;
  #isEnded = false;
  /** Entries that have come. */
  entryCount = 0;

  constructor(link: LinkStream, onEnd: () => void) {
    this.#link = link;
    this.#onEnd = onEnd;
    link.onPiece = (piece) => this.#receive(piece);
    link.onEnd = () => this.end();
    this.#timer = setInterval(() => this.#look(), limits.streamAliveMillis).unref();
  }

  /**
   * True if entries of a log come from now on; the first time that is not so yet. `undefined`: too
   * many are wanted already.
   */
  wants(log: LogName): boolean | undefined {
    const known = this.#wanted.get(log);
    if (known !== undefined) {
      known.wantedAt = performance.now();
      return known.isBegun;
    }
    if (this.#wanted.size >= limits.streamLogsMax) return undefined;
    const wanted = { isBegun: false, entries: [], bytes: 0, waiting: new Set<() => void>() };
    this.#wanted.set(log, { ...wanted, wantedAt: performance.now() });
    this.#link.write(encodeStreamFrame({ kind: 'want', log }));
    return false;
  }

  /** Logs whose entries come. */
  get logCount(): number {
    return [...this.#wanted.values()].filter(({ isBegun }) => isBegun).length;
  }

  /** True if the next entry that a reader wants is here. */
  has(log: LogName, from: number): boolean {
    const entries = this.#wanted.get(log)?.entries ?? [];
    const [first] = entries;
    return first !== undefined && first.seq <= from && from < first.seq + entries.length;
  }

  /** Entries from one on, which are not kept any longer; none if that one is not here. */
  take(log: LogName, from: number): readonly StreamedEntry[] {
    const wanted = this.#wanted.get(log);
    if (wanted === undefined || !this.has(log, from)) return [];
    const taken = wanted.entries.filter(({ seq }) => seq >= from);
    this.#drop(wanted);
    return taken;
  }

  /** Calls `wake` once, when something has come of a log, or nothing will; returns how to stop. */
  onNews(log: LogName, wake: () => void): () => void {
    const waiting = this.#wanted.get(log)?.waiting;
    if (waiting === undefined || this.#isEnded) {
      wake();
      return () => undefined;
    }
    waiting.add(wake);
    return () => waiting.delete(wake);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#link.close();
    this.#onEnd();
    for (const wanted of this.#wanted.values()) wakeAll(wanted);
    this.#wanted.clear();
  }

  #receive(piece: Buffer): void {
    this.#heardAt = performance.now();
    try {
      for (const frame of this.#frames.take(piece)) this.#take(frame);
    } catch {
      this.end();
    }
  }

  #take(frame: StreamFrame): void {
    const wanted = frame.kind === 'alive' ? undefined : this.#wanted.get(frame.log);
    if (wanted === undefined) return;
    if (frame.kind === 'begun') {
      // What was stored before is the engine's to show.
      wanted.isBegun = true;
      this.#drop(wanted);
    } else if (frame.kind === 'entry') this.#keep(wanted, frame.entry);
    wakeAll(wanted);
  }

  #keep(wanted: Wanted, entry: StreamedEntry): void {
    this.entryCount += 1;
    const last = wanted.entries.at(-1);
    if (last !== undefined && entry.seq !== last.seq + 1) this.#drop(wanted);
    const { length } = entry.bytes;
    const isFull = wanted.bytes + length > limits.streamKeptLogBytesMax;
    if (isFull || this.#bytes + length > limits.streamKeptBytesMax) {
      // The engine has it.
      this.#drop(wanted);
      return;
    }
    wanted.entries.push(entry);
    wanted.bytes += length;
    this.#bytes += length;
  }

  #drop(wanted: Wanted): void {
    this.#bytes -= wanted.bytes;
    wanted.bytes = 0;
    wanted.entries = [];
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#heardAt > limits.streamSilentMillis) {
      this.end();
      return;
    }
    for (const [log, wanted] of this.#wanted) {
      const isWanted = wanted.waiting.size > 0;
      if (isWanted || now - wanted.wantedAt < limits.streamWantedMillis) continue;
      this.#drop(wanted);
      this.#wanted.delete(log);
      this.#link.write(encodeStreamFrame({ kind: 'leave', log }));
    }
    if (this.#wanted.size === 0) this.end();
  }
}

function wakeAll({ waiting }: Wanted): void {
  const woken = [...waiting];
  waiting.clear();
  for (const wake of woken) wake();
}
