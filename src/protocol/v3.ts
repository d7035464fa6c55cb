/**
 * Protocol v3: the messages of v2, concatenated in binary frames. A frame from the server begins
 * with its compression tag; a frame from the client does not.
 *
 * In our own subprotocol, `v3.bsatn.reducerdb`, each frame of the server begins with a u64,
 * little-endian, before that tag: a client that has applied the frame has everything that concerns
 * it up to that commit, and nothing of later ones.
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
import { type MessageArm, readTagged } from './message-parts.ts';
import { type ClientMessage, clientArms } from './v2/client-message.ts';
import { type ServerMessage, serverArms } from './v2/server-message.ts';

/**
 * Decodes the messages of a client frame on demand, so messages before a fault take effect before
 * it is thrown; `arms`: other messages than those of all versions. Throws `DecodeError`.
 */
export function* clientMessagesIn<Message = ClientMessage>(
  frame: Uint8Array,
  arms: readonly MessageArm<ClientMessage | Message>[] = clientArms,
): Generator<ClientMessage | Message, void, void> {
  if (frame.length === 0) throw new DecodeError(emptyClientFrameText);
  const reader = new BinaryReader(frame);
  while (reader.remaining > 0) yield readTagged(reader, 'ClientMessage', arms);
}

/**
 * Decodes the messages of a server frame on demand; `body` is the decompressed frame after its tag;
 * `arms`: other messages than those of all versions.
 * Throws `DecodeError`.
 */
export function* serverMessagesIn<Message = ServerMessage>(
  body: Uint8Array,
  arms: readonly MessageArm<ServerMessage | Message>[] = serverArms,
): Generator<ServerMessage | Message, void, void> {
  if (body.length === 0) throw new DecodeError('a frame of the server holds no message');
  const reader = new BinaryReader(body);
  while (reader.remaining > 0) yield readTagged(reader, 'ServerMessage', arms);
}

/** Packs encoded messages of a client into as few frames as the frame bounds allow. */
export function packClientMessages(messages: readonly Uint8Array[]): Uint8Array[] {
  return packMessages(messages, {
    head: new Uint8Array(0),
    bytesTarget: clientFrameBytesTarget,
    messagesMax: clientFrameMessagesMax,
  });
}

/** Packs encoded messages of the server. Each frame begins with the tag for "not compressed". */
export function packServerMessages(messages: readonly Uint8Array[]): Uint8Array[] {
  return packMessages(messages, {
    head: Uint8Array.of(compressionTags.none),
    bytesTarget: serverFrameBytesTarget,
    messagesMax: serverFrameMessagesMax,
  });
}

/** The close reason after a client sends a frame without a message. */
const emptyClientFrameText =
  'v3 websocket binary payload must contain at least one v2 client message';

interface FrameBounds {
  /** Bytes before the messages. */
  readonly head: Uint8Array;
  /** Message bytes in one frame; a larger message is sent in a frame of its own. */
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
