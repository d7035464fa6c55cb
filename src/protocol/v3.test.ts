import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { compressionOf } from './compression.ts';
import { type ClientMessage, encodeClientMessage } from './v2/client-message.ts';
import { encodeServerMessage, type ServerMessage } from './v2/server-message.ts';
import {
  clientMessagesIn,
  packClientMessages,
  packServerMessages,
  serverMessagesIn,
} from './v3.ts';

const call = (requestId: number, argumentBytes = 0): ClientMessage => ({
  kind: 'callReducer',
  requestId,
  reducer: 'add',
  args: new Uint8Array(argumentBytes).fill(requestId),
});

const failure = (requestId: number, length = 2): ServerMessage => ({
  kind: 'subscriptionError',
  requestId,
  querySetId: 1,
  error: 'x'.repeat(length),
});

/** Replaces the bulk bytes of a message, which are slow to compare. */
function sketch(message: ClientMessage) {
  if (message.kind !== 'callReducer') return message;
  return { ...message, args: [message.args.length, message.args.at(0), message.args.at(-1)] };
}

describe('[websocket 6] frames of v3', () => {
  it('hold messages in order, however they are cut into frames', () => {
    const calls = Array.from({ length: 100 }, (_, id) => call(id, id * 1000));
    const frames = packClientMessages(calls.map(encodeClientMessage));
    expect(frames.length).toBeGreaterThan(1);
    const found = frames.flatMap((frame) => [...clientMessagesIn(frame)]);
    expect(found.map(sketch)).toEqual(calls.map(sketch));
    for (const frame of frames) {
      expect(frame.length).toBeLessThanOrEqual(limits.clientFrameBytesTarget);
    }
  });

  it('of the server begin with one tag and keep their own target', () => {
    const failures = Array.from({ length: 100 }, (_, id) => failure(id, id * 1000));
    const frames = packServerMessages(failures.map(encodeServerMessage));
    expect(frames.length).toBeGreaterThan(1);
    expect(frames.map((frame) => compressionOf(frame[0] ?? 9))).toEqual(frames.map(() => 'none'));
    const bodies = frames.map((frame) => frame.subarray(1));
    expect(bodies.flatMap((body) => [...serverMessagesIn(body)])).toEqual(failures);
    for (const body of bodies) {
      expect(body.length).toBeLessThanOrEqual(limits.serverFrameBytesTarget);
    }
  });

  it('of a large message hold that message alone', () => {
    const messages = [call(1), call(2, limits.clientFrameBytesTarget), call(3), call(4)];
    const frames = packClientMessages(messages.map(encodeClientMessage));
    expect(frames.map((frame) => [...clientMessagesIn(frame)].length)).toEqual([1, 1, 2]);
  });

  it('hold no more messages than their bound', () => {
    const messages = Array.from({ length: limits.serverFrameMessagesMax + 1 }, (_, id) =>
      encodeServerMessage(failure(id)),
    );
    const counts = packServerMessages(messages).map(
      (frame) => [...serverMessagesIn(frame.subarray(1))].length,
    );
    expect(counts).toEqual([limits.serverFrameMessagesMax, 1]);
  });

  it('are none for no messages', () => {
    expect(packClientMessages([])).toEqual([]);
    expect(packServerMessages([])).toEqual([]);
  });

  it('without a message are refused in these words', () => {
    expect(() => [...clientMessagesIn(new Uint8Array(0))]).toThrow(
      /^v3 websocket binary payload must contain at least one v2 client message$/,
    );
    expect(() => [...serverMessagesIn(new Uint8Array(0))]).toThrow(DecodeError);
  });

  it('give the messages before a fault, then the fault', () => {
    const [frame = new Uint8Array(0)] = packClientMessages(
      [call(1), call(2)].map(encodeClientMessage),
    );
    const seen: ClientMessage[] = [];
    const drain = () => {
      for (const message of clientMessagesIn(frame.subarray(0, -1))) seen.push(message);
    };
    expect(drain).toThrow(
      /^data too short for u32: Expected 4, given 3, in CallReducer at byte 30$/,
    );
    expect(seen).toEqual([call(1)]);
  });
});
