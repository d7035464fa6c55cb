/**
 * Protocol v3: the messages of v2, several of them in one binary frame, back to back. A frame of
 * the server begins with its compression tag, a frame of the client does not.
 */
import {
  clientFrameBytesTarget,
  clientFrameMessagesMax,
  serverFrameBytesTarget,
  serverFrameMessagesMax,
} from '../shared-limits.ts';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { joinBytes } from '../values/bytes.ts';
import { compressionTags } from './compression.ts';
import { type ClientMessage, readClientMessage } from './v2/client-message.ts';
import { readServerMessage, type ServerMessage } from './v2/server-message.ts';

/**
 * The messages of a frame of a client, decoded one by one as they are asked for: those before a
 * fault are there before it is thrown, and count. Throws `DecodeError`.
 */
export function* clientMessagesIn(frame: Uint8Array): Generator<ClientMessage, void, void> {
  if (frame.length === 0) throw new DecodeError(emptyClientFrameText);
  const reader = new BinaryReader(frame);
  while (reader.remaining > 0) yield readClientMessage(reader);
}

/**
 * The messages of a frame of a server, after its compression was undone: `body` is what stood after
 * the tag. Decoded as they are asked for. Throws `DecodeError`.
 */
export function* serverMessagesIn(body: Uint8Array): Generator<ServerMessage, void, void> {
  if (body.length === 0) throw new DecodeError('a frame of the server holds no message');
  const reader = new BinaryReader(body);
  while (reader.remaining > 0) yield readServerMessage(reader);
}

/** Puts encoded messages of a client into as few frames as the bounds of a frame allow. */
export function packClientMessages(messages: readonly Uint8Array[]): Uint8Array[] {
  return packMessages(messages, {
    head: new Uint8Array(0),
    bytesTarget: clientFrameBytesTarget,
    messagesMax: clientFrameMessagesMax,
  });
}

/** The same for messages of a server. Each frame begins with the tag of "not compressed". */
export function packServerMessages(messages: readonly Uint8Array[]): Uint8Array[] {
  return packMessages(messages, {
    head: Uint8Array.of(compressionTags.none),
    bytesTarget: serverFrameBytesTarget,
    messagesMax: serverFrameMessagesMax,
  });
}

/** The text that a connection is closed with whose client sends a frame without a message. */
const emptyClientFrameText =
  'v3 websocket binary payload must contain at least one v2 client message';

interface FrameBounds {
  /** What stands before the messages. */
  readonly head: Uint8Array;
  /** Bytes of messages in one frame; a larger message has a frame of its own. */
  readonly bytesTarget: number;
  readonly messagesMax: number;
}

function packMessages(messages: readonly Uint8Array[], bounds: FrameBounds): Uint8Array[] {
  const frames: Uint8Array[] = [];
  let batch: Uint8Array[] = [];
  let byteCount = 0;
  for (const message of messages) {
    const isFull = batch.length === bounds.messagesMax;
    if (isFull || (batch.length > 0 && byteCount + message.length > bounds.bytesTarget)) {
      frames.push(joinBytes([bounds.head, ...batch]));
      batch = [];
      byteCount = 0;
    }
    batch.push(message);
    byteCount += message.length;
  }
  if (batch.length > 0) frames.push(joinBytes([bounds.head, ...batch]));
  return frames;
}
