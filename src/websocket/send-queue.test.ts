import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Backlog } from './backlog.ts';
import { EncodedMessage } from './encoded-message.ts';
import { SendQueue, type SendQueueOptions } from './send-queue.ts';
import type { Socket } from './socket.ts';

/** A socket whose peer reads only when the test says so. */
class RecordedSocket implements Socket {
  readonly bytesRead = 0;
  readonly writes: Buffer[] = [];
  readonly #written: (() => void)[] = [];

  write(chunks: readonly Uint8Array[], written: () => void): void {
    this.writes.push(Buffer.concat(chunks));
    this.#written.push(written);
  }

  takeOne(): void {
    this.#written.shift()?.();
  }

  /** Lets the peer read everything. */
  take(): void {
    for (const written of this.#written.splice(0)) written();
  }

  /** Returns the payloads of the written frames, decompressed and without their tags. */
  bodies(): string[] {
    const bodies: string[] = [];
    for (let bytes = Buffer.concat(this.writes); bytes.length > 0; ) {
      const short = bytes.readUInt8(1);
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      const length =
        short < 126
          ? short
          : short === 126
            ? bytes.readUInt16BE(2)
            : Number(bytes.readBigUInt64BE(2));
      const payload = bytes.subarray(head, head + length);
      bodies.push(opened(payload));
      bytes = bytes.subarray(head + length);
    }
    return bodies;
  }

  ping(): void {}
  close(): void {}
  destroy(): void {}
  pause(): void {}
  resume(): void {}
}

function opened(payload: Buffer): string {
  const body = payload.subarray(1);
  if (payload[0] === 1) return brotliDecompressSync(body).toString();
  return (payload[0] === 2 ? gunzipSync(body) : body).toString();
}

function queueOf(given: Partial<SendQueueOptions> = {}) {
  const socket = new RecordedSocket();
  const backlog = new Backlog(1_000_000);
  const queue = new SendQueue(socket, {
    opcode: 'binary',
    compression: 'none',
    packs: false,
    messagesMax: 100,
    bytesMax: 1_000_000,
    backlog,
    ...given,
  });
  return { socket, queue, backlog };
}

const message = (text: string) => new EncodedMessage(new TextEncoder().encode(text));

describe('what waits for a socket', () => {
  it('[websocket 10] is written in one go, one frame for each message', () => {
    const { socket, queue } = queueOf();
    for (const text of ['a', 'b', 'c']) queue.push(message(text));
    expect(socket.writes).toHaveLength(0);
    expect(queue.flush()).toBe(3);
    expect(socket.writes).toHaveLength(1);
    expect(socket.bodies()).toEqual(['a', 'b', 'c']);
    expect(queue.flush()).toBe(0);
  });

  it('[websocket 6] is packed where the version packs, up to the size of a frame', () => {
    const { socket, queue } = queueOf({ packs: true, bytesMax: 2 ** 30 });
    const large = 'x'.repeat(300 * 1024);
    for (const text of ['a', 'b', large, large, 'c']) queue.push(message(text));
    expect(queue.flush()).toBe(2);
    expect(socket.bodies()).toEqual([`ab${large}`, `${large}c`]);
  });

  it.each(['brotli', 'gzip'] as const)('[websocket 4] keeps its order with %s', async (kind) => {
    const { socket, queue } = queueOf({ compression: kind });
    const texts = Array.from({ length: 40 }, (_, at) => `${at}`.repeat(at % 3 === 0 ? 9_000 : 1));
    for (const text of texts) {
      queue.push(message(text));
      queue.flush();
    }
    await expect.poll(() => socket.bodies().length).toBe(40);
    expect(socket.bodies()).toEqual(texts);
  });

  it('[websocket 11] is counted until the system has it', () => {
    const { socket, queue, backlog } = queueOf({ messagesMax: 3 });
    expect([queue.push(message('aa')), queue.push(message('b'))]).toEqual([true, true]);
    queue.flush();
    expect([queue.push(message('c')), queue.push(message('d'))]).toEqual([true, false]);
    expect([queue.messageCount, queue.byteCount, backlog.byteCount]).toEqual([4, 5, 5]);
    socket.take();
    expect([queue.messageCount, queue.byteCount, backlog.byteCount]).toEqual([2, 2, 2]);
    queue.abandon();
    expect(backlog.byteCount).toBe(0);
    queue.flush();
    socket.take();
    expect([backlog.byteCount, socket.writes.length]).toEqual([0, 1]);
  });

  it('[living 1.16] is as old as its oldest write that the system has not taken', () => {
    const { socket, queue } = queueOf();
    expect(queue.waitingMillis(50)).toBe(0);
    queue.push(message('a'));
    queue.flush(100);
    queue.push(message('b'));
    queue.flush(130);
    expect(queue.waitingMillis(150)).toBe(50);
    socket.takeOne();
    expect(queue.waitingMillis(150)).toBe(20);
    socket.take();
    expect(queue.waitingMillis(150)).toBe(0);
    queue.push(message('c'));
    queue.flush(200);
    queue.abandon();
    expect(queue.waitingMillis(900)).toBe(0);
  });

  it('[websocket 11] has a bound in bytes', () => {
    const { queue } = queueOf({ bytesMax: 10 });
    expect(queue.push(message('0123456789'))).toBe(true);
    expect(queue.push(message('0'))).toBe(false);
  });

  it('shares what is joined for several sockets', () => {
    const messages = ['a', 'b'].map(message);
    const sockets = [queueOf({ packs: true }), queueOf({ packs: true }), queueOf()];
    for (const { queue } of sockets) {
      for (const one of messages) queue.push(one);
      queue.flush();
    }
    expect(sockets.map(({ socket }) => socket.bodies())).toEqual([['ab'], ['ab'], ['a', 'b']]);
  });
});
