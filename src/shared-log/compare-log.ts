import type { LogPoint } from '../log/log-point.ts';
import { readSegmentHeader, segmentHeaderBytes } from '../log/segment.ts';
import { recordLengths } from './check-records.ts';
import { type Entry, entryKinds } from './entry.ts';
import type { ImportedLog } from './import-log.ts';

/**
 * Whether the log of a host has the records of a shared log of which only some entries can be read:
 * where both have one chain hash at one place, they have the same before it. What was before the
 * beginning of the host's log cannot be compared.
 */
export class LogComparison {
  readonly #source: ImportedLog;
  readonly #start: number;
  /** The last commit up to which both are known to be the same. */
  #same: number;
  /** True if the shared log is known to have all of the host's. */
  #hasEnd = false;
  #difference: string | undefined;

  constructor(source: ImportedLog) {
    this.#source = source;
    const reading = readSegmentHeader(source.beginning.segmentHeader);
    const { position, firstOffset } =
      reading.kind === 'valid' ? reading.header : { position: 0, firstOffset: 1 };
    this.#start = position;
    this.#same = firstOffset - 1;
  }

  /** What differs first, and what to do; `undefined`: nothing, as far as it was compared. */
  get difference(): string | undefined {
    return this.#difference;
  }

  /** Compares an entry that follows those before, not necessarily at once. */
  compare(entry: Entry): void {
    if (this.#difference !== undefined) return;
    const { position, chain, offset, chainAfter: after, seq } = entry;
    const isRecords = entry.kind === entryKinds.records || entry.kind === entryKinds.lastPart;
    const hasRecords = isRecords || entry.kind === entryKinds.part;
    const where = `the log has (entry ${seq})`;
    const isSame = this.#isSame({ position, chain, offset });
    if (isSame && !hasRecords) this.#same = Math.max(this.#same, offset);
    if (!isSame) this.#note(offset, where);
    else if (isRecords && position >= this.#start) {
      const end = { position: this.#endOf(entry), chain: after, offset };
      if (this.#isSame(end)) this.#same = Math.max(this.#same, offset);
      else this.#note(offset, where);
    }
  }

  /** Compares the end of what another host knows to be acknowledged. */
  compareEnd(end: LogPoint): void {
    if (this.#difference !== undefined || this.#isSame(end)) return;
    this.#note(end.offset, 'another host knows to be acknowledged');
  }

  #isSame({ position, chain, offset }: LogPoint): boolean {
    const { end } = this.#source;
    if (position < this.#start) return true;
    // More commits than the host has are no others; neither is a stop behind its last one.
    if (position > end.position) return offset > end.offset || this.#hasEnd;
    if (this.#source.chainAt(position) !== chain) return false;
    this.#hasEnd ||= position === end.position;
    return true;
  }

  /** Where its records end, if the host has the same ones. */
  #endOf({ kind, position, chain, offset, payload, startsSegment }: Entry): number {
    const headerBytes = startsSegment ? segmentHeaderBytes : 0;
    if (kind === entryKinds.records) return position + payload.length - headerBytes;
    if (position >= this.#source.end.position) return position + payload.length;
    // Its other parts may be lost; they make one record.
    for (const { records } of this.#source.writesBehind({ position, chain, offset: offset - 1 })) {
      const [length] = recordLengths(records);
      if (length !== undefined) return position + length;
    }
    return position + payload.length;
  }

  #note(last: number, where: string): void {
    const first = this.#same + 1;
    const which = first < last ? `one of commits ${first} to ${last}` : `commit ${last}`;
    this.#difference =
      `${which} is another one on this host than ${where}: name another host, ` +
      'which has what was acknowledged';
  }
}
