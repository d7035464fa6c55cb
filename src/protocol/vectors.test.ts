import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readableV1Client, readableV1Server } from '../../test/support/readable-v1.ts';
import { readableV2 } from '../../test/support/readable-v2.ts';
import {
  bytesOf,
  type RecordedFrames,
  type RecordedMessages,
  recorded,
} from '../../test/support/recorded-messages.ts';
import { toHex } from '../values/hex.ts';
import { compressionOf } from './compression.ts';
import * as v1Client from './v1/client-message.ts';
import * as v1Server from './v1/server-message.ts';
import * as v2Client from './v2/client-message.ts';
import * as v2Server from './v2/server-message.ts';
import {
  clientMessagesIn,
  packClientMessages,
  packServerMessages,
  serverMessagesIn,
} from './v3.ts';

// The recordings were made with a client library; decoded messages are compared field by field.

describe('[websocket 6] recorded messages of v2', () => {
  const { messages, compressed_frames, count } = recorded<RecordedMessages>('messages-v2.json');

  it('are all there', () => {
    expect(messages).toHaveLength(count);
    expect(count).toBe(34);
  });

  for (const [index, { direction, message, note, value, bsatn, frame }] of messages.entries()) {
    it(`${index}: ${direction} ${message}, ${note}`, () => {
      const bytes = bytesOf(bsatn);
      if (direction === 'client') {
        const decoded = v2Client.decodeClientMessage(bytes);
        expect(readableV2(decoded)).toEqual(value);
        expect(toHex(v2Client.encodeClientMessage(decoded))).toBe(bsatn);
        return;
      }
      const decoded = v2Server.decodeServerMessage(bytes);
      expect(readableV2(decoded)).toEqual(value);
      const encoded = v2Server.encodeServerMessage(decoded);
      expect(toHex(encoded)).toBe(bsatn);
      expect(packServerMessages([encoded]).map(toHex)).toEqual([frame]);
    });
  }

  for (const { tag, frame, body, note } of compressed_frames) {
    it(`[websocket 4] ${note}`, () => {
      expect(toHex(decompressed(bytesOf(frame)))).toBe(body);
      expect(bytesOf(frame)[0]).toBe(tag);
      const message = v2Server.decodeServerMessage(bytesOf(body));
      expect(toHex(v2Server.encodeServerMessage(message))).toBe(body);
    });
  }
});

describe('[websocket 6] recorded frames of v3', () => {
  const { frames, count } = recorded<RecordedFrames>('messages-v3.json');

  it('are all there', () => {
    expect(frames).toHaveLength(count);
    expect(count).toBe(41);
  });

  for (const { direction, note, messages, frame, decode_only } of frames) {
    it(`${direction}: ${note}`, () => {
      const values = messages.map((message) => message.value);
      const bytes = bytesOf(frame);
      if (direction === 'client') {
        const decoded = [...clientMessagesIn(bytes)];
        expect(decoded.map(readableV2)).toEqual(values);
        const packed = packClientMessages(decoded.map(v2Client.encodeClientMessage));
        expect(packed.map(toHex)).toEqual([frame]);
        return;
      }
      const decoded = [...serverMessagesIn(decompressed(bytes))];
      expect(decoded.map(readableV2)).toEqual(values);
      const packed = packServerMessages(decoded.map(v2Server.encodeServerMessage));
      if (!decode_only) expect(packed.map(toHex)).toEqual([frame]);
      else expect(packed[0]?.subarray(1)).toEqual(decompressed(bytes));
    });
  }
});

describe('[websocket 8] recorded messages of v1', () => {
  const { messages, count } = recorded<RecordedMessages>('messages-v1.json');

  it('are all there', () => {
    expect(messages).toHaveLength(count);
    expect(count).toBe(42);
  });

  for (const [index, { direction, message, note, value, bsatn }] of messages.entries()) {
    it(`${index}: ${direction} ${message}, ${note}`, () => {
      const bytes = bytesOf(bsatn);
      if (direction === 'client') {
        const decoded = v1Client.decodeClientMessage(bytes);
        expect(readableV1Client(decoded)).toEqual(value);
        expect(toHex(v1Client.encodeClientMessage(decoded))).toBe(bsatn);
        return;
      }
      const decoded = v1Server.decodeServerMessage(bytes);
      expect(readableV1Server(decoded)).toEqual(value);
      expect(toHex(v1Server.encodeServerMessage(decoded))).toBe(bsatn);
    });
  }
});

/** Returns the decompressed messages of a server frame, without its tag. */
function decompressed(frame: Uint8Array): Uint8Array {
  const body = frame.subarray(1);
  switch (compressionOf(frame[0] ?? 255)) {
    case 'none':
      return body;
    case 'brotli':
      return new Uint8Array(brotliDecompressSync(body));
    case 'gzip':
      return new Uint8Array(gunzipSync(body));
    case undefined:
      throw new Error(`no compression has the tag ${frame[0]}`);
  }
}
