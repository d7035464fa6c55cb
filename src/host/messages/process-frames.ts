import v8 from 'node:v8';
import { writeNumber } from '../../database/write-number.ts';
import { limits } from '../../limits.ts';
import { FrameReader, framed, type ReceiveFrame } from '../../node/frames.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import type { MemberAsk, MemberOrder } from './member-messages.ts';
import { checkMessage } from './message-checks.ts';
import { checkPartCount } from './part-count.ts';
import type { ActorStart, Batch, FromWorker, Structured, ToWorker } from './worker-messages.ts';

/** A message to a process: first its start, then the others. */
export type ToProcess = ToWorker | { readonly kind: 'start'; readonly start: ActorStart };

type Message = ToProcess | FromWorker;

type AppendAsk = Extract<MemberAsk, { kind: 'append' }>;

/**
 * Messages on the stream between the gateway and a process, as bodies of frames (`frames.ts`).
 * Numbers are little-endian:
 *
 * ```
 * 0        any message, in the platform's encoding of structured values
 * 1, 2     `requests`, `turn`: byte count u32 · bytes · count u32, then each blob: byte count u32 ·
 *          bytes · the structured part, if there is one, in the platform's encoding
 * 3        `durable`: write f64 · offset f64
 * 4        `link`: id f64 · bytes
 * 5        `examined`: bytes
 * 6        `member` that appends: id f64 · seq f64 · byte count of `after` u32, or 0xffffffff where
 *          there is none · `after` · bytes of the entry
 * ```
 *
 * Structured values can take a hundred times their bytes when they are read, so the gateway reads
 * short ones only: see `limits.workerStructuredBytesMax`. Few bytes can also mean endless work for
 * those who walk the value: see `part-count.ts`.
 */
const frameKinds = {
  ...{ other: 0, requests: 1, turn: 2, durable: 3, link: 4, examined: 5, append: 6 },
} as const;

/** In place of a byte count: there are no bytes. */
const absent = 0xffff_ffff;

/** The frame of a message, in pieces to be written one after another. */
export function encodeMessage(message: Message): readonly Uint8Array[] {
  switch (message.kind) {
    case 'requests':
    case 'turn':
      return messageFrame(frameKinds[message.kind], batchPieces(message.batch));
    case 'durable': {
      const body = Buffer.allocUnsafe(16);
      body.writeDoubleLE(message.write, 0);
      body.writeDoubleLE(message.offset, 8);
      return messageFrame(frameKinds.durable, [body]);
    }
    case 'link': {
      const id = Buffer.allocUnsafe(8);
      id.writeDoubleLE(message.id, 0);
      return messageFrame(frameKinds.link, [id, message.bytes]);
    }
    case 'examined':
      return messageFrame(frameKinds.examined, [message.described]);
    case 'member': {
      const { id, ask } = message;
      if (ask.kind !== 'append') return structuredFrame(message);
      return messageFrame(frameKinds.append, appendPieces(id, ask));
    }
    default:
      return structuredFrame(message);
  }
}

function structuredFrame(message: Message): readonly Uint8Array[] {
  return messageFrame(frameKinds.other, [v8.serialize(message)]);
}

function appendPieces(id: number, { seq, bytes, after }: AppendAsk): Uint8Array[] {
  const numbers = Buffer.allocUnsafe(16);
  numbers.writeDoubleLE(id, 0);
  numbers.writeDoubleLE(seq, 8);
  const before = after === undefined ? [u32(absent)] : [u32(after.length), after];
  return [numbers, ...before, bytes];
}

function batchPieces({ bytes, blobs, structured }: Batch): Uint8Array[] {
  const pieces = [u32(bytes.length), bytes, u32(blobs.length)];
  for (const blob of blobs) pieces.push(u32(blob.length), blob);
  if (structured.length > 0) pieces.push(v8.serialize(structured));
  return pieces;
}

function messageFrame(kind: number, body: readonly Uint8Array[]): readonly Uint8Array[] {
  return framed(kind, body, limits.workerFrameBytesMax);
}

function u32(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}

/**
 * Reads messages from the chunks of a stream. `push` throws on an invalid message: the other side
 * may be anything that a hostile module has made of its process.
 */
export class MessageReader {
  readonly #structuredBytesMax: number;
  readonly #frames = new FrameReader(limits.workerFrameBytesMax);

  /** `structuredBytesMax`: the longest structured value that is read; a longer one is refused. */
  constructor(structuredBytesMax: number = limits.workerFrameBytesMax) {
    this.#structuredBytesMax = structuredBytesMax;
  }

  /**
   * Passes each message that ends in this chunk to `receive`, until `isEnough` returns true.
   * Returns the rest: see `FrameReader`.
   */
  push(chunk: Buffer, receive: (message: Message) => void, isEnough?: () => boolean): Buffer {
    const decode: ReceiveFrame = (kind, body) => {
      receive(decodeMessage(kind, body, this.#structuredBytesMax));
    };
    return this.#frames.push(chunk, decode, isEnough);
  }
}

function decodeMessage(kind: number, body: Buffer, structuredBytesMax: number): Message {
  switch (kind) {
    case frameKinds.other: {
      const message = decodeStructured(body, structuredBytesMax) as Message;
      if (frameKindNames.has(message.kind)) throw new Error(`a structured \`${message.kind}\``);
      checkMessage(message as FromWorker);
      return message;
    }
    case frameKinds.requests:
      return { kind: 'requests', batch: decodeBatch(body, structuredBytesMax) };
    case frameKinds.turn:
      return { kind: 'turn', batch: decodeBatch(body, structuredBytesMax) };
    case frameKinds.durable: {
      const offset = commitOffset(body.readDoubleLE(8));
      return { kind: 'durable', write: writeNumber(body.readDoubleLE(0)), offset };
    }
    case frameKinds.link:
      return { kind: 'link', id: body.readDoubleLE(0), bytes: viewOf(body, 8, body.length) };
    case frameKinds.examined:
      return { kind: 'examined', described: viewOf(body, 0, body.length) };
    case frameKinds.append:
      return decodeAppend(body);
    default:
      throw new Error(`a frame of the unknown kind ${kind}`);
  }
}

const frameKindNames: ReadonlySet<string> = new Set(Object.keys(frameKinds));

function decodeStructured(bytes: Buffer, bytesMax: number): unknown {
  if (bytes.length > bytesMax) throw new Error(`a structured value of ${bytes.length} bytes`);
  const value: unknown = v8.deserialize(bytes);
  checkPartCount(value, bytesMax);
  return value;
}

function decodeAppend(body: Buffer): MemberOrder {
  const [id, seq] = [body.readDoubleLE(0), body.readDoubleLE(8)];
  if (!Number.isSafeInteger(id) || !Number.isSafeInteger(seq) || id < 0 || seq < 0) {
    throw new Error('an append whose numbers are none');
  }
  const count = body.readUInt32LE(16);
  const start = 20 + (count === absent ? 0 : count);
  if (start > body.length) throw new Error('an append that ends before its end');
  const after = count === absent ? undefined : viewOf(body, 20, start);
  return {
    kind: 'member',
    id,
    ask: { kind: 'append', seq, bytes: viewOf(body, start, body.length), after },
  };
}

function decodeBatch(body: Buffer, structuredBytesMax: number): Batch {
  let at = 0;
  const u32 = (): number => {
    at += 4;
    return body.readUInt32LE(at - 4);
  };
  const take = (byteCount: number): Uint8Array => {
    at += byteCount;
    if (at > body.length) throw new Error('a batch that ends before its end');
    return viewOf(body, at - byteCount, at);
  };
  const bytes = take(u32());
  const count = u32();
  if (count > limits.workerBlobsMax) throw new Error(`a batch of ${count} blobs`);
  const blobs: Uint8Array[] = [];
  for (let left = count; left > 0; left -= 1) blobs.push(take(u32()));
  if (at >= body.length) return { bytes, blobs, structured: [] };
  const structured = decodeStructured(body.subarray(at), structuredBytesMax) as Structured[];
  if (!Array.isArray(structured)) throw new Error('a batch whose structured part is not a list');
  return { bytes, blobs, structured };
}

function viewOf(body: Buffer, start: number, end: number): Uint8Array {
  return new Uint8Array(body.buffer, body.byteOffset + start, end - start);
}
