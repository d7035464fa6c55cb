import type { CommitOffset } from '../database/outcome.ts';
import type { ArrivingClient } from '../host/replication/leader-desk.ts';
import type {
  AttachedAnswer,
  AttachedEnd,
  AttachedRequest,
} from '../host/replication/leader-line.ts';
import { limits } from '../limits.ts';
import { FrameReader, framed } from '../node/frames.ts';
import { JsonError } from '../values/json-error.ts';
import { lineShapes } from './line-shapes.ts';

/**
 * What two hosts say over a line, about clients that one of them has and the other one leads the
 * database of. The body of a frame (`frames.ts`) is `u32` bytes of JSON, the JSON, and then the
 * bytes that it names as `{"$b":[start,length]}`; large integers are `{"$n":"…"}`. A kind that a
 * host does not know is left out.
 */
export type LineFrame =
  /** In place of one that nobody needs any more. */
  | { readonly kind: 'none' }
  /** How many other frames have come; sent by both. */
  | { readonly kind: 'heard'; readonly count: number }
  /** From the host of a client: it is there, under this number. */
  | {
      readonly kind: 'attach';
      readonly channel: number;
      readonly client: ArrivingClient;
      /** How far the sender knows the registry. */
      readonly registryOffset: number;
    }
  | {
      readonly kind: 'request';
      readonly channel: number;
      readonly number: number;
      readonly request: AttachedRequest;
    }
  | { readonly kind: 'leave'; readonly channel: number }
  /** From the leader. */
  | { readonly kind: 'connected'; readonly channel: number; readonly offset: CommitOffset }
  | {
      readonly kind: 'answer';
      readonly channel: number;
      readonly number: number;
      readonly answer: Exclude<AttachedAnswer, { kind: 'unknown' }>;
    }
  | { readonly kind: 'ended'; readonly channel: number; readonly end: AttachedEnd }
  | { readonly kind: 'lost'; readonly channel: number; readonly undone: readonly number[] };

/** What came of a client instead of a frame that can be read. */
export interface FaultyFrame {
  readonly kind: 'faulty';
  readonly channel: number;
}

/** The other end would take no frame of that length: it ends its client, not the line. */
export class LongFrameError extends Error {}

/** What a client gets whose frame is not sent, or cannot be read. */
export const longFrameEnd: AttachedEnd = { kind: 'closed', code: 1009, reason: 'message too big' };
export const faultyFrameEnd: AttachedEnd = {
  ...{ kind: 'closed', code: 1011, reason: 'a message between two hosts was not readable' },
};

/** The kind of all frames; what they are is in the JSON. */
const jsonFrame = 0;

/** Throws `LongFrameError`. */
export function encodeLineFrame(frame: LineFrame): Buffer {
  const parts: Uint8Array[] = [];
  let length = 0;
  const text = JSON.stringify(frame, function replace(this: Record<string, unknown>, key, shown) {
    // Of a `Buffer`, `shown` is something else.
    const value = this[key];
    if (typeof value === 'bigint') return { $n: String(value) };
    if (!(value instanceof Uint8Array)) return shown as unknown;
    parts.push(value);
    length += value.length;
    return { $b: [length - value.length, value.length] };
  });
  const frameBytes = 1 + 4 + Buffer.byteLength(text) + length;
  if (frameBytes > limits.lineFrameBytesMax) throw new LongFrameError(frame.kind);
  const json = Buffer.from(text, 'utf8');
  const jsonLength = Buffer.allocUnsafe(4);
  jsonLength.writeUInt32LE(json.length, 0);
  return Buffer.concat(framed(jsonFrame, [jsonLength, json, ...parts], limits.lineFrameBytesMax));
}

/** Takes frames out of pieces of a line. */
export class LineFrames {
  readonly #frames = new FrameReader(limits.lineFrameBytesMax);

  /**
   * The whole frames that are there now; `undefined`: one that is not known. Throws on what is no
   * frame, and on one that cannot be read if it does not show whose it is.
   */
  take(piece: Buffer): (LineFrame | FaultyFrame | undefined)[] {
    const frames: (LineFrame | FaultyFrame | undefined)[] = [];
    this.#frames.push(piece, (kind, body) => {
      frames.push(kind === jsonFrame ? frameOf(body) : undefined);
    });
    return frames;
  }
}

function frameOf(bytes: Buffer): LineFrame | FaultyFrame | undefined {
  const end = 4 + bytes.readUInt32LE(0);
  if (end > bytes.length) throw new Error('no frame of a line');
  const frame = JSON.parse(bytes.toString('utf8', 4, end), (_, value: unknown) =>
    revived(value, bytes.subarray(end)),
  ) as Record<string, unknown>;
  const { kind, channel } = frame;
  if (typeof kind !== 'string' || !Object.hasOwn(lineShapes, kind)) return undefined;
  try {
    lineShapes[kind as LineFrame['kind']](frame, '');
  } catch (error) {
    if (!(error instanceof JsonError) || !Number.isSafeInteger(channel)) throw error;
    return { kind: 'faulty', channel: channel as number };
  }
  return frame as unknown as LineFrame;
}

function revived(value: unknown, body: Buffer): unknown {
  if (value === null || typeof value !== 'object') return value;
  const { $n, $b } = value as { readonly $n?: string; readonly $b?: readonly [number, number] };
  if ($n !== undefined) return BigInt($n);
  if ($b === undefined) return value;
  // A copy: what comes later would else keep the whole piece.
  return Uint8Array.from(body.subarray($b[0], $b[0] + $b[1]));
}
