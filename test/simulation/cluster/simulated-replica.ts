import { chainOf, type LogPoint } from '../../../src/log/log-point.ts';
import type { LogWrite } from '../../../src/log/replicated-write.ts';
import { recordLengths } from '../../../src/shared-log/check-records.ts';
import type { Beginning } from '../../../src/shared-log/entry-payloads.ts';
import { decodeBeginning, encodeBeginning } from '../../../src/shared-log/entry-payloads.ts';
import type { Replica } from '../../../src/shared-log/replica.ts';

/** One record, as a local log has it. */
export interface SimulatedRecord {
  readonly bytes: Uint8Array;
  readonly end: LogPoint;
}

/** The data folder of a host: what of it survives the end of a process, and a power cut. */
export class SimulatedFolder {
  start: LogPoint | undefined;
  records: SimulatedRecord[] = [];
  /** Records that are durable. */
  syncedCount = 0;
  acknowledgedOffset = 0;
  /** How often it began at a snapshot. */
  restartCount = 0;
  /** What was cut off the log and kept. */
  readonly aside: SimulatedRecord[] = [];

  get end(): LogPoint {
    return this.records.at(-1)?.end ?? this.start ?? { position: 0, chain: 0n, offset: 0 };
  }

  /** All that was durable stays, and `extra` of the records behind it. */
  cutPower(extra: number): void {
    this.records = this.records.slice(0, this.syncedCount + extra);
    this.syncedCount = this.records.length;
  }
}

/** A local log without a disk: `syncMillis` pass until what was written is durable. */
export class SimulatedReplica implements Replica {
  readonly #folder: SimulatedFolder;
  readonly #pause: () => Promise<void>;
  readonly #snapshots: readonly LogPoint[];

  constructor(
    folder: SimulatedFolder,
    pause: () => Promise<void>,
    snapshots: readonly LogPoint[] = [],
  ) {
    this.#folder = folder;
    this.#pause = pause;
    this.#snapshots = snapshots;
  }

  get end(): LogPoint {
    return this.#folder.end;
  }

  get startPosition(): number {
    return this.#folder.start?.position ?? 0;
  }

  async restart(_: Beginning, point: LogPoint): Promise<boolean> {
    const folder = this.#folder;
    const hasIt = folder.start !== undefined && this.end.position >= point.position;
    const isOther =
      this.startPosition <= point.position && this.chainAt(point.position) !== point.chain;
    if (hasIt && !isOther) return true;
    await this.#pause();
    const found = this.#snapshots.findLast(({ position }) => position >= point.position);
    if (found === undefined) return false;
    folder.restartCount++;
    folder.aside.push(...folder.records.splice(0));
    folder.syncedCount = 0;
    folder.start = found;
    folder.acknowledgedOffset = Math.max(folder.acknowledgedOffset, found.offset);
    return true;
  }

  get acknowledgedOffset(): number {
    return this.#folder.acknowledgedOffset;
  }

  async begin(beginning: Beginning): Promise<void> {
    const reading = decodeBeginning(encodeBeginning(beginning));
    if (reading.kind !== 'valid') throw new Error('the log has no beginning');
    const { position, chainLow, chainHigh, firstOffset } = reading.header;
    const chain = chainOf(chainLow, chainHigh);
    this.#folder.start ??= { position, chain, offset: firstOffset - 1 };
  }

  chainAt(position: number): bigint | undefined {
    const { start } = this.#folder;
    if (start?.position === position) return start.chain;
    return this.#folder.records[this.#indexBehind(position) - 1]?.end.chain;
  }

  async apply(write: LogWrite): Promise<void> {
    this.write(write);
  }

  /** What a leader's commit log does. */
  write({ records, end }: LogWrite): void {
    const lengths = recordLengths(records);
    const view = new DataView(records.buffer, records.byteOffset, records.length);
    let at = 0;
    for (const length of lengths) {
      const bytes = records.slice(at, at + length);
      const offset = view.getUint32(at + 8, true);
      at += length;
      const isLast = at === records.length;
      const chain = isLast
        ? end.chain
        : chainOf(view.getInt32(at + 24, true), view.getInt32(at + 28, true));
      const position = this.end.position + length;
      this.#folder.records.push({ bytes, end: { position, chain, offset } });
    }
  }

  async setAside(point: LogPoint): Promise<void> {
    const folder = this.#folder;
    const count = point.position === folder.start?.position ? 0 : this.#indexBehind(point.position);
    if (count < 0) throw new Error('the log is cut between records');
    folder.aside.push(...folder.records.splice(count));
    folder.syncedCount = Math.min(folder.syncedCount, count);
  }

  writesBehind(point: LogPoint): readonly LogWrite[] {
    const { records, start } = this.#folder;
    const first = point.position === start?.position ? 0 : this.#indexBehind(point.position);
    return records.slice(first).map(({ bytes, end }) => ({ records: bytes, end }));
  }

  async sync(): Promise<void> {
    const count = this.#folder.records.length;
    await this.#pause();
    const { records, syncedCount } = this.#folder;
    this.#folder.syncedCount = Math.max(syncedCount, Math.min(count, records.length));
  }

  /** Index of the record behind the one that ends at `position`; -1 if none does. */
  #indexBehind(position: number): number {
    const { records } = this.#folder;
    let low = 0;
    let high = records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((records[middle]?.end.position ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return records[low]?.end.position === position ? low + 1 : -1;
  }
}
