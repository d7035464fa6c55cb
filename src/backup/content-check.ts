import { present } from '../assert.ts';
import { blockKinds } from '../log/block.ts';
import { laterMicros } from '../log/commit-time.ts';
import { acceptedMicrosOf, decodeRecord } from '../log/decode-record.ts';
import { chainFromHex, chainToHex } from '../log/history-point.ts';
import { isCommitKind, isCommitRecord } from '../log/record.ts';
import { readSegmentHeader, type SegmentHeader, segmentHeaderBytes } from '../log/segment.ts';
import { readSnapshotHeader, type SnapshotHeader, snapshotHeaderBytes } from '../log/snapshot.ts';
import { bigintToHex } from '../values/hex.ts';
import { laterFileError } from './backup-error.ts';
import { type Frame, FrameCheck, FrameError } from './frame-check.ts';
import type { LogPoint, SegmentEntry, SnapshotEntry } from './manifest.ts';

type Content = AsyncIterable<Uint8Array>;

/** What the content of a segment, or of a tail of one, is expected to be. */
export type SegmentPlace = Pick<SegmentEntry, 'identity' | 'sequence' | 'from' | 'to'>;
export type SnapshotFacts = Pick<SnapshotEntry, 'identity' | 'at' | 'sequence'>;

/** The state of the log after each commit of a segment, as it is read. */
export interface CommitPlace {
  readonly offset: number;
  readonly position: number;
  readonly micros: number;
  readonly chainLow: number;
  readonly chainHigh: number;
}

export interface SegmentCheck {
  /** Passes the content on, and throws `FrameError` where it is not what is expected. */
  readonly content: Content;
  /** The place behind the last record, once all of it was read. */
  readonly end: LogPoint;
}

/**
 * Checks a segment as its content passes by: the header, each record with its checksum, chain and
 * offset, and that it ends at `place.to`. `from` and `to` may be without times (0). Payloads are
 * decoded only where times have to be found out, since that takes longer than all else.
 */
export function checkSegment(
  content: Content,
  place: SegmentPlace,
  onCommit?: (commit: CommitPlace) => void,
): SegmentCheck {
  const state = new SegmentState(place, onCommit);
  return {
    content: checked(content, segmentHeaderBytes, (head) => state.begin(head)),
    get end() {
      return state.end;
    },
  };
}

class SegmentState {
  readonly #place: SegmentPlace;
  readonly #onCommit: ((commit: CommitPlace) => void) | undefined;
  readonly #readsTimes: boolean;
  #offset: number;
  #position: number;
  #micros: number;
  #chain: string;

  constructor(place: SegmentPlace, onCommit: ((commit: CommitPlace) => void) | undefined) {
    this.#place = place;
    this.#onCommit = onCommit;
    this.#readsTimes = onCommit !== undefined || place.to.micros === 0;
    this.#offset = place.from.offset;
    this.#position = place.from.position;
    this.#micros = place.from.micros;
    this.#chain = place.from.chain;
  }

  get end(): LogPoint {
    return {
      epoch: this.#place.to.epoch,
      offset: this.#offset,
      position: this.#position,
      chain: this.#chain,
      micros: this.#readsTimes ? this.#micros : this.#place.to.micros,
    };
  }

  begin(head: Uint8Array): Checking {
    const header = headerOf(head, this.#place);
    this.#micros = Math.max(this.#micros, Number(header.lastMicros));
    const start = present(chainFromHex(this.#place.from.chain), 'a chain hash');
    const check = new FrameCheck(header.salt, start, (frame) => {
      const { kind, offset } = frame;
      const isCommit = isCommitKind(kind);
      if (offset !== this.#offset + (isCommit ? 1 : 0)) {
        throw new FrameError(`a record has offset ${offset} after ${this.#offset}`);
      }
      if (this.#readsTimes) this.#readTime(frame);
      this.#offset = offset;
      this.#position += frame.length;
      if (!isCommit) return;
      this.#onCommit?.({ offset, position: this.#position, micros: this.#micros, ...check.chain });
    });
    return {
      push: (piece) => check.push(piece),
      finish: () => {
        check.finish();
        this.#chain = chainToHex(check.chain);
        const { to } = this.#place;
        if (this.#offset === to.offset && this.#position === to.position) {
          if (this.#chain === to.chain) return;
        }
        throw new FrameError(`it ends at offset ${this.#offset}, expected ${to.offset}`);
      },
    };
  }

  #readTime({ kind, offset, bytes, payloadStart, payloadEnd }: Frame): void {
    const record = decodeRecord(kind, offset, bytes, payloadStart, payloadEnd);
    if (record === undefined || !isCommitRecord(record)) return;
    this.#micros = laterMicros(this.#micros, acceptedMicrosOf(record.inputs));
  }
}

function headerOf(head: Uint8Array, { identity, sequence, from }: SegmentPlace): SegmentHeader {
  const reading = readSegmentHeader(head);
  if (reading.kind === 'later') throw laterFileError('a segment of the log');
  if (reading.kind === 'invalid') throw new FrameError('the header of a segment is not valid');
  const { header } = reading;
  const isExpected =
    header.sequence === sequence &&
    bigintToHex(header.databaseIdentity, 64) === identity &&
    bigintToHex(header.epoch, 16) === from.epoch;
  if (!isExpected) throw new FrameError('the header is that of another segment');
  return header;
}

/** Passes on a snapshot; throws `FrameError` where it is not whole, or of another place. */
export function checkSnapshot(content: Content, facts: SnapshotFacts): Content {
  return checked(content, snapshotHeaderBytes, (head) => {
    const { salt, crc } = snapshotHeaderOf(head, facts);
    let count = 0;
    let kind = 0;
    const check = new FrameCheck(salt, { chainLow: salt, chainHigh: crc }, (frame) => {
      if (frame.offset !== count) throw new FrameError(`a block has the number ${frame.offset}`);
      if (kind === blockKinds.footer) throw new FrameError('a block follows the footer');
      count++;
      kind = frame.kind;
    });
    return {
      push: (piece) => check.push(piece),
      finish: () => {
        check.finish();
        if (kind !== blockKinds.footer) throw new FrameError('it does not end with a footer');
      },
    };
  });
}

function snapshotHeaderOf(head: Uint8Array, facts: SnapshotFacts): SnapshotHeader {
  const reading = readSnapshotHeader(head);
  if (reading.kind === 'version') throw laterFileError('a snapshot');
  if (reading.kind === 'invalid') throw new FrameError('the header of a snapshot is not valid');
  const { place } = reading.header;
  const isExpected =
    bigintToHex(place.databaseIdentity, 64) === facts.identity &&
    bigintToHex(place.epoch, 16) === facts.at.epoch &&
    place.offset === facts.at.offset &&
    // The next segment stands in for one that was sealed at the place.
    (place.segment === facts.sequence || place.segment + 1 === facts.sequence) &&
    place.position === facts.at.position &&
    chainToHex(place) === facts.at.chain;
  if (!isExpected) throw new FrameError('the header is that of another snapshot');
  return reading.header;
}

interface Checking {
  push(piece: Uint8Array): void;
  finish(): void;
}

/** Passes on `content`; its first `headBytes` begin the check of what follows. */
async function* checked(
  content: Content,
  headBytes: number,
  begin: (head: Uint8Array) => Checking,
): Content {
  let head = new Uint8Array(0);
  let checking: Checking | undefined;
  for await (const piece of content) {
    if (checking !== undefined) {
      pushTo(checking, piece);
    } else {
      head = Buffer.concat([head, piece]);
      if (head.length >= headBytes) {
        checking = begin(head.subarray(0, headBytes));
        pushTo(checking, head.subarray(headBytes));
      }
    }
    yield piece;
  }
  if (checking === undefined) throw new FrameError('the file ends inside its header');
  checking.finish();
}

/** A payload that cannot be decoded is damage like any other. */
function pushTo(checking: Checking, piece: Uint8Array): void {
  try {
    checking.push(piece);
  } catch (error) {
    if (error instanceof FrameError) throw error;
    throw new FrameError(error instanceof Error ? error.message : String(error));
  }
}
