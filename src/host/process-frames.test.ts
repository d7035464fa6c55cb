import v8 from 'node:v8';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf } from '../../test/support/chunks-of.ts';
import { present } from '../assert.ts';
import { noTimes } from '../database/time-counts.ts';
import { limits } from '../limits.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { ownEnds } from './own-ends.ts';
import { encodeMessage, MessageReader } from './process-frames.ts';
import type { StampedLine } from './seat.ts';
import type { Batch, FromWorker, ToWorker } from './worker-messages.ts';

const bytes = (length: number, first = 1) => new Uint8Array(length).map((_, at) => first + at);

const batch: Batch = {
  bytes: bytes(300),
  blobs: [bytes(70_000, 7), new Uint8Array(0)],
  structured: [{ kind: 'tables', tables: [] }],
};

const messages: readonly (ToWorker | FromWorker)[] = [
  { kind: 'requests', batch: { bytes: bytes(10), blobs: [], structured: [] } },
  { kind: 'turn', batch },
  { kind: 'durable', write: 17, offset: commitOffset(2 ** 40) },
  { kind: 'linked', id: 3, outcome: { kind: 'failed', message: 'no' } },
  { kind: 'close' },
  { kind: 'link', id: 5, bytes: bytes(800) },
  { kind: 'examined', described: bytes(9) },
];

const plain = (message: unknown) =>
  JSON.stringify(message, (_, value) =>
    ArrayBuffer.isView(value) ? [...(value as Uint8Array)] : value,
  );

describe('frames between gateway and process', () => {
  it('[living 6.1] arrive whole and in order, however the stream is cut', () => {
    const stream = Buffer.concat(messages.flatMap((message) => encodeMessage(message)));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1 }), (lengths) => {
        const reader = new MessageReader();
        const received: unknown[] = [];
        for (const chunk of chunksOf(stream, lengths)) {
          reader.push(chunk, (message) => received.push(message));
        }
        expect(received.map(plain)).toEqual(messages.map(plain));
      }),
      { numRuns: 60 },
    );
  });

  it('are refused when they are too long, empty, or of an unknown kind', () => {
    const head = (byteCount: number, kind: number) => {
      const frame = Buffer.alloc(5);
      frame.writeUInt32LE(byteCount, 0);
      frame[4] = kind;
      return frame;
    };
    const push = (chunk: Buffer) => new MessageReader().push(chunk, () => undefined);
    expect(() => push(head(limits.workerFrameBytesMax + 1, 0))).toThrow('a frame of');
    expect(() => push(head(0, 0))).toThrow('a frame of 0 bytes');
    expect(() => push(head(1, 9))).toThrow('the unknown kind 9');
  });

  it('cost the gateway no more than a bound, whatever a process sends', () => {
    const frame = (kind: number, ...body: Uint8Array[]) => {
      const rest = Buffer.concat([Buffer.from([kind]), ...body]);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(rest.length, 0);
      return Buffer.concat([length, rest]);
    };
    const gateway = new MessageReader(limits.workerStructuredBytesMax);
    const push = (chunk: Buffer) => gateway.push(chunk, () => undefined);
    // Were they read, they would be rejected with other words: they hold nothing but zeros.
    const many = new Uint8Array(limits.workerStructuredBytesMax + 1);
    expect(() => push(frame(0, many))).toThrow('a structured value of');
    const emptyTurn = new Uint8Array(8);
    expect(() => push(frame(2, emptyTurn, many))).toThrow('a structured value of');
    const blobs = Buffer.alloc(8 + 4 * (limits.workerBlobsMax + 1));
    blobs.writeUInt32LE(limits.workerBlobsMax + 1, 4);
    expect(() => push(frame(2, blobs))).toThrow('blobs');
    for (const forged of [{ kind: 'link', id: 1 }, { kind: 'turn' }, { kind: 'durable' }]) {
      expect(() => push(frame(0, v8.serialize(forged)))).toThrow(`a structured \`${forged.kind}\``);
    }
  });

  it('with figures have numbers', () => {
    const used = { rowBytes: 1, logBytes: 2, programBytes: 3 };
    const memory = { rowBytes: 0, indexBytes: 5, used, live: { queries: 0 }, times: noTimes };
    const push = (told: object) => {
      const frame = Buffer.concat([
        Buffer.alloc(5),
        v8.serialize({ kind: 'memory', memory: told }),
      ]);
      frame.writeUInt32LE(frame.length - 4, 0);
      new MessageReader().push(frame, () => undefined);
    };
    expect(() => push(memory)).not.toThrow();
    const lies = [
      { rowBytes: Number.NaN },
      { indexBytes: -1 },
      { used: { ...used, logBytes: '1\nfigure 2' } },
      { live: { queries: 3n } },
      { times: { ...noTimes, turn: [1, 2] } },
      { times: { ...noTimes, sync: noTimes.sync.map(() => '1\nfigure 2') } },
      { state: 'serving 1\nfigure' },
    ];
    for (const lie of lies) expect(() => push({ ...memory, ...lie })).toThrow('no figures');
  });

  it('[living 6.2] with an end have one that an actor reports, and nothing but texts', () => {
    const end = { cause: 'refused', message: 'x', running: undefined };
    const push = (told: unknown) => {
      const [frame] = encodeMessage({ kind: 'ended', end: told } as FromWorker);
      new MessageReader().push(Buffer.from(present(frame, 'a frame')), () => undefined);
    };
    for (const cause of ownEnds) expect(() => push({ ...end, cause })).not.toThrow();
    const body = { code: 'init.failed', message: 'x' };
    expect(() => push({ ...end, body, running: 7, isUndone: true })).not.toThrow();
    const lies = [
      { cause: 'x"} 1\nforged' },
      // Not for an actor to decide.
      ...['killed', 'budget', 'silent', 'closed', undefined].map((cause) => ({ cause })),
      ...[5, { toString: 5 }, undefined].map((message) => ({ message })),
      ...[7n, -1, 0.5, '7'].map((running) => ({ running })),
      ...['text', null, { code: 'init.failed' }, { message: 'x' }].map((body) => ({ body })),
      { isUndone: 'yes' },
    ];
    for (const lie of lies) expect(() => push({ ...end, ...lie })).toThrow();
    for (const none of [undefined, null]) expect(() => push(none)).toThrow();
  });

  it('with lines of a log have texts and times', () => {
    const line = { level: 'info', message: 'x', fileName: 'a.ts', lineNumber: 3, trace: [{}] };
    const push = (stamped: object) => {
      const [frame] = encodeMessage({ kind: 'lines', lines: [stamped as StampedLine] });
      new MessageReader().push(Buffer.from(present(frame, 'a frame')), () => undefined);
    };
    expect(() => push({ micros: 1n, line })).not.toThrow();
    const lies = [
      { micros: 1, line },
      { micros: Number.NaN, line },
      { line },
      { micros: 1n, line: { ...line, message: { length: 0, text: 'long' } } },
      { micros: 1n, line: { ...line, message: undefined } },
      { micros: 1n, line: { ...line, fileName: ['long'] } },
      { micros: 1n, line: { ...line, lineNumber: '7' } },
      { micros: 1n, line: { ...line, trace: { length: 0 } } },
      { micros: 1n, line: { ...line, trace: [{ moduleName: ['long'] }] } },
    ];
    for (const lie of lies) expect(() => push(lie)).toThrow('no lines');
  });

  it('of any bytes either give a message or an error', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 1, 2, 3, 4, 5),
        fc.uint8Array({ maxLength: 200 }),
        (kind, body) => {
          const frame = Buffer.concat([Buffer.alloc(4), Buffer.from([kind]), body]);
          frame.writeUInt32LE(1 + body.length, 0);
          const received: unknown[] = [];
          try {
            new MessageReader().push(frame, (message) => received.push(message));
          } catch (error) {
            expect(error).toBeInstanceOf(Error);
            return;
          }
          expect(received).toHaveLength(1);
        },
      ),
    );
  });
});
