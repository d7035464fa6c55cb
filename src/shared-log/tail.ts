import { limits } from '../limits.ts';
import { chainOf, type LogPoint } from '../log/log-point.ts';
import { type SegmentHeader, segmentHeaderBytes } from '../log/segment.ts';
import { checkRecords } from './check-records.ts';
import { decodeEntry, type Entry, encodeEntry, entryHeaderBytes, entryKinds } from './entry.ts';
import {
  type Beginning,
  decodeBeginning,
  decodeLead,
  decodeRestart,
  type Lead,
} from './entry-payloads.ts';
import type { StoredEntry } from './shared-log.ts';

/** What an entry brought. Bytes are views of the entry, or of what was assembled for this step. */
export type TailStep =
  | { readonly kind: 'beginning'; readonly beginning: Beginning; readonly header: SegmentHeader }
  /** Reading begins here: what the log held before has to be had from elsewhere. */
  | { readonly kind: 'restart'; readonly beginning: Beginning; readonly point: LogPoint }
  | {
      readonly kind: 'records';
      readonly records: Uint8Array;
      /** Encoded header of the segment that begins with them. */
      readonly segment: Uint8Array | undefined;
      readonly end: LogPoint;
    }
  | { readonly kind: 'term'; readonly term: number; readonly lead: Lead }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'end' }
  | { readonly kind: 'fault'; readonly fault: TailFault };

/**
 * `damaged`: a checksum is wrong, or entries contradict each other, which no correct writer and
 * engine bring about. `later`: a later version wrote it; this host cannot go on.
 */
export interface TailFault {
  readonly code: 'damaged' | 'later';
  readonly seq: number;
  readonly reason: string;
}

/** The state behind an entry with records, from which a log can be read on. */
export interface TailStart {
  /** That entry. */
  readonly last: Entry;
  readonly point: LogPoint;
  readonly salt: number;
  readonly term: number;
  readonly lead: Lead;
  readonly acknowledged: number;
  readonly promised: number;
}

/**
 * The end of a shared log as one host has read it: entries go in one after another, each is checked
 * against all before it, and a wrong one changes nothing. Between two entries of kind term there
 * are
 * only entries of the leader that the first one names; a term may be handed over by the leader
 * before it.
 */
export class Tail {
  #next = 0;
  #point: LogPoint = { position: 0, chain: 0n, offset: 0 };
  #salt = 0;
  #term = 0;
  #lead: Lead | undefined;
  #acknowledged = 0;
  #promised = 0;
  #last = new Uint8Array(0);
  #parts: Uint8Array[] = [];
  #partBytes = 0;
  #hasEnded = false;
  #isTermEmpty = true;
  #border: Uint8Array | undefined;
  /** True while the entry is taken at which reading began. */
  #isRestarted = false;

  /** A log that is read from there on; what is before was compared with the local log. */
  static at({ last, point, salt, term, lead, acknowledged, promised }: TailStart): Tail {
    const tail = new Tail();
    tail.#next = last.seq + 1;
    tail.#point = point;
    tail.#salt = salt;
    tail.#term = term;
    tail.#lead = lead;
    tail.#acknowledged = acknowledged;
    tail.#promised = promised;
    tail.#last = encodeEntry(last).slice(0, entryHeaderBytes);
    tail.#isTermEmpty = false;
    return tail;
  }

  /** The seq that comes next. */
  get next(): number {
    return this.#next;
  }

  /** Where the records of the log end. */
  get point(): LogPoint {
    return this.#point;
  }

  get salt(): number {
    return this.#salt;
  }

  /** Number of the last term; 0 before the first one. */
  get term(): number {
    return this.#term;
  }

  /** Who leads by the last entry of kind term. */
  get lead(): Lead | undefined {
    return this.#lead;
  }

  /** Largest offset in the log that an entry said was acknowledged when it was made. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /**
   * Largest offset that somebody knew to be acknowledged, and that the log may lack: a leader whose
   * engine has lost the end of it says so, before it restores that behind its term.
   */
  get promised(): number {
    return this.#promised;
  }

  /** The header of the last entry, encoded; empty before the first one. */
  get last(): Uint8Array {
    return this.#last;
  }

  /** True if nothing follows the entry that began the last term. */
  get isTermEmpty(): boolean {
    return this.#isTermEmpty;
  }

  /** The header of the segment that begins where the records end, if an entry has said so. */
  get border(): Uint8Array | undefined {
    return this.#border;
  }

  /** Moves over entries that this host wrote itself, and need not check. */
  advance(to: { readonly last: StoredEntry; readonly point: LogPoint }): void {
    this.#next = to.last.seq + 1;
    this.#last = to.last.bytes.slice(0, entryHeaderBytes);
    this.#point = to.point;
    this.#border = undefined;
    this.#isTermEmpty = false;
    this.#dropParts();
  }

  /** Takes the next entry. */
  accept({ seq, bytes }: StoredEntry): TailStep {
    const reading = decodeEntry(bytes);
    if (reading.kind === 'invalid') return this.#fault('damaged', reading.reason);
    if (reading.kind === 'later') return this.#fault('later', `it has ${reading.what}`);
    const { entry } = reading;
    const isRestart = this.#next === 0 && seq > 0 && entry.seq === seq;
    if (isRestart && entry.kind === entryKinds.restart) this.#restart(entry);
    if (seq !== this.#next || entry.seq !== seq) {
      return this.#fault('damaged', `entry ${entry.seq} came as ${seq}, after ${this.#next - 1}`);
    }
    const wrong = this.#wrongIn(entry);
    if (wrong !== undefined) return this.#fault('damaged', wrong);
    const step = this.#step(entry);
    if (step.kind === 'fault') return step;
    this.#next = seq + 1;
    const { acknowledged, offset } = entry;
    this.#acknowledged = Math.max(this.#acknowledged, Math.min(acknowledged, offset));
    this.#promised = Math.max(this.#promised, acknowledged);
    this.#last = bytes.slice(0, entryHeaderBytes);
    this.#isTermEmpty = step.kind === 'term';
    return step;
  }

  /** What contradicts the entries before it, in the header of this one. */
  #wrongIn(entry: Entry): string | undefined {
    const { position, chain, offset } = this.#point;
    if (this.#hasEnded) return 'it follows the end of its generation';
    if ((entry.seq === 0) !== (entry.kind === entryKinds.beginning)) {
      return 'only the first entry begins a log';
    }
    if (entry.kind === entryKinds.beginning) return undefined;
    if (entry.position !== position || entry.chain !== chain) {
      return `it continues log position ${entry.position}, and the log ends at ${position}`;
    }
    const isRecords = entry.kind === entryKinds.records || entry.kind === entryKinds.lastPart;
    if (!isRecords && (entry.offset !== offset || entry.chainAfter !== chain)) {
      return 'it moves the log without records';
    }
    if (entry.kind === entryKinds.term) return this.#wrongInTerm(entry);
    if (entry.acknowledged > entry.offset) return 'it acknowledges what is not there';
    if (entry.term !== this.#term || entry.boot !== this.#lead?.boot) {
      return `its writer does not lead term ${this.#term}`;
    }
    return undefined;
  }

  #wrongInTerm(entry: Entry): string | undefined {
    if (entry.term !== this.#term + 1) return `term ${entry.term} follows term ${this.#term}`;
    const lead = decodeLead(entry.payload);
    if (lead === undefined) return 'it does not say who leads';
    const isByLeader = this.#lead !== undefined && entry.boot === this.#lead.boot;
    if (entry.boot !== lead.boot && !isByLeader) return 'it gives a term to another host';
    return undefined;
  }

  #step(entry: Entry): TailStep {
    switch (entry.kind) {
      case entryKinds.beginning:
        return this.#begin(entry);
      case entryKinds.term:
        return this.#beginTerm(entry);
      case entryKinds.records:
        return this.#records(entry, entry.payload);
      case entryKinds.part:
      case entryKinds.lastPart:
        return this.#part(entry);
      case entryKinds.end:
        this.#hasEnded = true;
        return { kind: 'end' };
      case entryKinds.restart:
        return this.#passRestart(entry);
      default:
        return { kind: 'nothing' };
    }
  }

  /** Goes to where the entry is, by what it says itself. */
  #restart(entry: Entry): void {
    const found = decodeRestart(entry.payload);
    if (found === undefined) return;
    const { position, chain, offset } = entry;
    this.#next = entry.seq;
    this.#point = { position, chain, offset };
    this.#salt = found.header.salt;
    this.#term = entry.term;
    this.#lead = found.lead;
    this.#promised = found.promised;
    this.#isRestarted = true;
  }

  #passRestart(entry: Entry): TailStep {
    const found = decodeRestart(entry.payload);
    if (found === undefined || found.lead.boot !== this.#lead?.boot) {
      return this.#fault('damaged', 'it does not say what was before');
    }
    if (!this.#isRestarted) return { kind: 'nothing' };
    this.#isRestarted = false;
    return { kind: 'restart', beginning: found.beginning, point: this.#point };
  }

  #begin(entry: Entry): TailStep {
    const reading = decodeBeginning(entry.payload);
    if (reading.kind === 'invalid') return this.#fault('damaged', reading.reason);
    const { beginning, header } = reading;
    const chain = chainOf(header.chainLow, header.chainHigh);
    const point = { position: header.position, chain, offset: header.firstOffset - 1 };
    const isSame = point.position === entry.position && point.offset === entry.offset;
    if (!isSame || chain !== entry.chain || chain !== entry.chainAfter) {
      return this.#fault('damaged', 'it begins elsewhere than its segment');
    }
    this.#salt = header.salt;
    this.#point = point;
    return { kind: 'beginning', beginning, header };
  }

  #beginTerm(entry: Entry): TailStep {
    const lead = decodeLead(entry.payload);
    if (lead === undefined) return this.#fault('damaged', 'it does not say who leads');
    this.#term = entry.term;
    this.#lead = lead;
    this.#dropParts();
    return { kind: 'term', term: entry.term, lead };
  }

  #part(entry: Entry): TailStep {
    const { payload } = entry;
    if (this.#partBytes + payload.length > limits.recordBytesMax + segmentHeaderBytes) {
      return this.#fault('damaged', 'its parts are larger than a record can be');
    }
    if (entry.kind === entryKinds.part) {
      this.#parts.push(payload.slice());
      this.#partBytes += payload.length;
      return { kind: 'nothing' };
    }
    const whole = new Uint8Array(this.#partBytes + payload.length);
    let at = 0;
    for (const part of [...this.#parts, payload]) {
      whole.set(part, at);
      at += part.length;
    }
    const step = this.#records(entry, whole);
    if (step.kind !== 'fault') this.#dropParts();
    return step;
  }

  #records(entry: Entry, payload: Uint8Array): TailStep {
    if (entry.startsSegment && payload.length < segmentHeaderBytes) {
      return this.#fault('damaged', 'the header of its segment is cut off');
    }
    const start = entry.startsSegment ? segmentHeaderBytes : 0;
    const records = payload.subarray(start);
    const check = checkRecords(records, this.#salt, this.#point);
    if (check.kind === 'invalid') return this.#fault('damaged', check.reason);
    const { end } = check;
    if (end.offset !== entry.offset || end.chain !== entry.chainAfter) {
      return this.#fault('damaged', 'its records end elsewhere than it says');
    }
    this.#point = end;
    const segment = entry.startsSegment ? payload.subarray(0, start) : undefined;
    if (records.length > 0) this.#border = undefined;
    else if (segment !== undefined) this.#border = segment.slice();
    return { kind: 'records', records, segment, end };
  }

  #dropParts(): void {
    this.#parts = [];
    this.#partBytes = 0;
  }

  #fault(code: TailFault['code'], reason: string): TailStep {
    return { kind: 'fault', fault: { code, seq: this.#next, reason } };
  }
}
