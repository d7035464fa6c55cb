import { limits } from '../limits.ts';
import { FrameReader } from '../node/frames.ts';
import { type LogName, logNameBytes } from '../shared-log/log-name.ts';
import type { StreamedEntry } from '../shared-log/shared-log.ts';
import { toHex } from '../values/hex.ts';

/**
 * What two hosts say over a stream of entries. A frame is `u32` bytes behind it, `u8` kind, and
 * then by its kind; numbers have their lowest byte first:
 *
 * | kind | from | content |
 * |---|---|---|
 * | 0 | leader | nothing: it is there |
 * | 1 | follower | name of a log (56 bytes), whose entries it wants from now on |
 * | 2 | follower | name of a log, whose entries it does not want any more |
 * | 3 | leader | name of a log, whose entries come from now on |
 * | 4 | leader | name of a log, `u64` seq, `u16` bytes of `after`, `after`, entry |
 */
export type StreamFrame =
  | { readonly kind: 'alive' }
  | { readonly kind: 'want'; readonly log: LogName }
  | { readonly kind: 'leave'; readonly log: LogName }
  | { readonly kind: 'begun'; readonly log: LogName }
  | { readonly kind: 'entry'; readonly log: LogName; readonly entry: StreamedEntry };

const kinds = ['alive', 'want', 'leave', 'begun', 'entry'] as const;
const headBytes = 5;
const nameBytes = 56;
const entryHeadBytes = nameBytes + 8 + 2;
/** No frame is longer: an entry of the largest kind that an engine takes. */
const frameBytesMax = limits.s3EntryBytesMax + 4_096;

export function encodeStreamFrame(frame: StreamFrame): Buffer {
  if (frame.kind === 'alive') return framed('alive', 0);
  const name = logNameBytes(frame.log);
  if (frame.kind !== 'entry') {
    const bytes = framed(frame.kind, nameBytes);
    bytes.set(name, headBytes);
    return bytes;
  }
  const { seq, after, bytes: entry } = frame.entry;
  const bytes = framed('entry', entryHeadBytes + after.length + entry.length);
  bytes.set(name, headBytes);
  bytes.writeBigUInt64LE(BigInt(seq), headBytes + nameBytes);
  bytes.writeUInt16LE(after.length, headBytes + nameBytes + 8);
  bytes.set(after, headBytes + entryHeadBytes);
  bytes.set(entry, headBytes + entryHeadBytes + after.length);
  return bytes;
}

function framed(kind: StreamFrame['kind'], length: number): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + length);
  bytes.writeUInt32LE(1 + length, 0);
  bytes.writeUInt8(kinds.indexOf(kind), 4);
  return bytes;
}

/** Takes frames out of pieces of a stream. */
export class StreamFrames {
  readonly #frames = new FrameReader(frameBytesMax);

  /** The whole frames that are there now. Throws on what is no frame. */
  take(piece: Buffer): StreamFrame[] {
    const frames: StreamFrame[] = [];
    this.#frames.push(piece, (kind, body) => frames.push(frameOf(kinds[kind], body)));
    return frames;
  }
}

function frameOf(kind: StreamFrame['kind'] | undefined, body: Buffer): StreamFrame {
  if (kind === 'alive') return { kind };
  if (kind === undefined || body.length < nameBytes) throw new Error('no frame of a stream');
  const log = toHex(body.subarray(0, nameBytes)) as LogName;
  if (kind !== 'entry') return { kind, log };
  const seq = Number(body.readBigUInt64LE(nameBytes));
  const start = entryHeadBytes + body.readUInt16LE(nameBytes + 8);
  if (!Number.isSafeInteger(seq) || body.length < start) throw new Error('no entry of a stream');
  // A copy each: what comes later would else keep the whole piece.
  const after = Uint8Array.from(body.subarray(entryHeadBytes, start));
  return { kind, log, entry: { seq, after, bytes: Uint8Array.from(body.subarray(start)) } };
}
