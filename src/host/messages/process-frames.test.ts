import v8 from 'node:v8';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf } from '../../../test/support/chunks-of.ts';
import { noLiveFigures } from '../../database/live/live-figures.ts';
import { noScheduleFigures } from '../../database/schedules/schedule-figures.ts';
import { noSnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import { noTimes } from '../../database/time-counts.ts';
import { writeNumber } from '../../database/write-number.ts';
import { limits } from '../../limits.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { ownEnds } from '../seats/own-ends.ts';
import { encodeMessage, MessageReader } from './process-frames.ts';
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
  { kind: 'durable', write: writeNumber(17), offset: commitOffset(2 ** 40) },
  { kind: 'linked', id: 3, outcome: { kind: 'failed', message: 'no' } },
  { kind: 'close', snapshotMillis: 5 },
  { kind: 'link', id: 5, bytes: bytes(800) },
  { kind: 'examined', described: bytes(9) },
];

const plain = (message: unknown) =>
  JSON.stringify(message, (_, value) =>
    ArrayBuffer.isView(value) ? [...(value as Uint8Array)] : value,
  );

/** Reads a structured message as the gateway does. */
function pushForged(message: object): void {
  const frame = Buffer.concat([Buffer.alloc(5), v8.serialize(message)]);
  frame.writeUInt32LE(frame.length - 4, 0);
  new MessageReader().push(frame, () => undefined);
}

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
    // If they were read, the error would differ: they hold nothing but zeros.
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
    const memory = {
      rowCount: 0,
      rowBytes: 0,
      indexBytes: 5,
      used,
      live: noLiveFigures,
      times: noTimes,
    };
    const told = { ...memory, schedules: noScheduleFigures, snapshots: noSnapshotFigures };
    const push = (figures: object) => {
      pushForged({ kind: 'memory', memory: figures });
    };
    expect(() => push(told)).not.toThrow();
    const lies = [
      { rowBytes: Number.NaN },
      { indexBytes: -1 },
      { used: { ...used, logBytes: '1\nfigure 2' } },
      { live: { ...noLiveFigures, queries: 3n } },
      { live: {} },
      { used: {} },
      { used: { ...used, more: 1 } },
      { rowBytes: Number.POSITIVE_INFINITY },
      { times: { turn: noTimes.turn, sync: noTimes.sync } },
      { times: { ...noTimes, queue: new Array(noTimes.queue.length) } },
      { times: { ...noTimes, turn: [1, 2] } },
      { times: { ...noTimes, sync: noTimes.sync.map(() => '1\nfigure 2') } },
      { state: 'serving 1\nfigure' },
      ...[undefined, {}].map((schedules) => ({ schedules })),
      ...[undefined, {}].map((snapshots) => ({ snapshots })),
      ...[{ offset: -2 }, { bytes: '1\nfigure 2' }, { more: 1 }].map((lie) => {
        return { snapshots: { ...noSnapshotFigures, ...lie } };
      }),
      ...[{ paused: -1 }, { failed: '1\nfigure 2' }, { more: 1 }, { lateness: [1] }].map((lie) => {
        return { schedules: { ...noScheduleFigures, ...lie } };
      }),
    ];
    for (const lie of lies) expect(() => push({ ...told, ...lie })).toThrow();
    for (const none of [undefined, null, {}]) expect(() => push(none as never)).toThrow();
  });

  it('[living 6.2] with an end have one that an actor reports, and nothing but texts', () => {
    const end = { cause: 'refused', message: 'x', running: undefined };
    const push = (told: unknown) => {
      pushForged({ kind: 'ended', end: told });
    };
    for (const cause of ownEnds) expect(() => push({ ...end, cause })).not.toThrow();
    const body = { code: 'init.failed', message: 'x' };
    expect(() => push({ ...end, body, running: 7, isUndone: true })).not.toThrow();
    const lies = [
      { cause: 'x"} 1\nforged' },
      // Not for an actor to decide.
      ...['killed', 'budget', 'silent', 'closed', undefined].map((cause) => ({ cause })),
      { message: 'x'.repeat(limits.programErrorCharactersMax + 1) },
      ...[5, { toString: 5 }, undefined].map((message) => ({ message })),
      ...[7n, -1, 0.5, '7'].map((running) => ({ running })),
      ...['text', null, { code: 'init.failed' }, { message: 'x' }].map((body) => ({ body })),
      { isUndone: 'yes' },
      ...[null, {}, 'b', { kind: 'handedOver', seq: 1, term: 2 }].map((handed) => ({ handed })),
    ];
    for (const lie of lies) expect(() => push({ ...end, ...lie })).toThrow();
    for (const none of [undefined, null]) expect(() => push(none)).toThrow();
  });

  it('with lines of a log have texts and times', () => {
    const line = { level: 'info', message: 'x', fileName: 'a.ts', lineNumber: 3, trace: [{}] };
    const push = (stamped: object) => {
      pushForged({ kind: 'lines', lines: [stamped] });
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
    const { logBatchLinesMax, logLineBytesMax, logNameCharactersMax, traceFramesMax } = limits;
    const longer = [
      { message: 'x'.repeat(logLineBytesMax + 1) },
      { functionName: 'x'.repeat(logNameCharactersMax + 1) },
      { trace: new Array(traceFramesMax + 1).fill({}) },
      { level: undefined },
      { more: 1 },
    ];
    for (const part of longer) lies.push({ micros: 1n, line: { ...line, ...part } } as never);
    for (const lie of lies) expect(() => push(lie)).toThrow('invalid lines');
    const pushAll = (lines: object) => pushForged({ kind: 'lines', lines });
    expect(() => pushAll([])).toThrow('invalid lines');
    const one = { micros: 1n, line };
    expect(() => pushAll(new Array(logBatchLinesMax).fill(one))).not.toThrow();
    expect(() => pushAll(new Array(logBatchLinesMax + 1).fill(one))).toThrow('invalid lines');
    expect(() => pushAll(new Array(3))).toThrow();
  });

  it('[living 6.2] with warnings, progress and openings have all they need, no more', () => {
    const warning = { kind: 'warn', message: 'x'.repeat(limits.reportCharactersMax) };
    expect(() => pushForged(warning)).not.toThrow();
    for (const message of [`${warning.message}x`, 5, undefined, { length: 1 }]) {
      expect(() => pushForged({ ...warning, message })).toThrow('invalid warning');
    }
    expect(() => pushForged({ kind: 'read', bytes: 7 })).not.toThrow();
    for (const lie of [{}, { bytes: -1 }, { bytes: '7' }, { bytes: 7, more: 1 }]) {
      expect(() => pushForged({ kind: 'read', ...lie })).toThrow('invalid figure');
    }
    expect(() => pushForged({ kind: 'closed', more: 1 })).toThrow('invalid end');
    const definition = {
      ...{ tables: [], reducers: [], procedures: [], views: [], types: [], crons: [], env: [] },
      ...{ typespace: { types: [] }, submodules: [], httpHandlers: [], httpRoutes: [] },
    };
    const description = { definition, schemaVersion: 1, programHash: 'a'.repeat(64) };
    const opening = { description, offset: 3, lastMicros: 5n, nextDueMicros: undefined };
    expect(() => pushForged({ kind: 'opened', opening })).not.toThrow();
    for (const nextDueMicros of [-(2n ** 63n), 7n]) {
      const due = { ...opening, nextDueMicros };
      expect(() => pushForged({ kind: 'opened', opening: due })).not.toThrow();
    }
    const lies = [
      ...[-1, 0.5, Number.NaN, '3'].map((offset) => ({ offset })),
      ...[-1n, 2n ** 63n, 5].map((lastMicros) => ({ lastMicros })),
      ...[2n ** 63n, 5, '5', null].map((nextDueMicros) => ({ nextDueMicros })),
      { description: {} },
      { description: { ...description, programHash: 'a' } },
      { description: { ...description, schemaVersion: undefined } },
      { description: { ...description, definition: { ...definition, tables: undefined } } },
    ];
    for (const lie of lies) {
      expect(() => pushForged({ kind: 'opened', opening: { ...opening, ...lie } })).toThrow();
    }
  });

  it('[living 6.2] with parts that nobody could walk are refused, however short they are', () => {
    const holes: unknown[] = [];
    holes.length = 2 ** 32 - 1;
    holes[7] = {};
    let twice: object = { kind: 'product', elements: [] };
    for (let level = 0; level < 40; level += 1) {
      twice = { kind: 'product', elements: [{ type: twice }, { type: twice }] };
    }
    const endless: unknown[] = [];
    endless.push(endless);
    const definition = {
      ...{ tables: [], reducers: [], procedures: [], views: [], types: [], crons: [], env: [] },
      ...{ typespace: { types: [] }, submodules: [], httpHandlers: [], httpRoutes: [] },
    };
    const description = { definition, schemaVersion: 1, programHash: 'a'.repeat(64) };
    const opening = { description, offset: 3, lastMicros: 5n, nextDueMicros: undefined };
    const gateway = () => new MessageReader(limits.workerStructuredBytesMax);
    const push = (tables: unknown) => {
      const told = { ...description, definition: { ...definition, tables } };
      const message = { kind: 'opened', opening: { ...opening, description: told } } as const;
      const frame = Buffer.concat(encodeMessage(message as unknown as FromWorker));
      expect(frame.length).toBeLessThan(8_192);
      gateway().push(frame, () => undefined);
    };
    for (const tables of [holes, [twice], endless]) expect(() => push(tables)).toThrow('parts');
    const column = { name: 'x', type: { kind: 'u8' } };
    expect(() => push([{ columns: [column, column, column] }])).not.toThrow();
    const schedules = { kind: 'schedules', outcome: { kind: 'listed', schedules: holes } };
    const lie = { ...batch, structured: [schedules] } as unknown as Batch;
    const turn = Buffer.concat(encodeMessage({ kind: 'turn', batch: lie }));
    expect(() => gateway().push(turn, () => undefined)).toThrow('parts');
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
