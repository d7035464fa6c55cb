import { describe, expect, it, onTestFinished } from 'vitest';
import { assert, present } from '../assert.ts';
import { type RowList, rowListOf } from '../protocol/row-list.ts';
import { rowsText } from '../protocol/v1/rows-text.ts';
import {
  type RowTexts,
  serverMessageToText,
  type TextServerMessage,
  type ValueText,
} from '../protocol/v1/text.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodeValue } from '../values/encode.ts';
import { encodedToJson, JsonTooLongError } from '../values/json.ts';
import { product, unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { Backlog } from './backlog.ts';
import { EncodedMessage } from './encoded-message.ts';
import { LateMessage, LateRows } from './late-message.ts';
import { type LateGrown, SendQueue, type SendQueueOptions } from './send-queue.ts';
import type { Socket } from './socket.ts';
import { textFormat } from './v1-format.ts';
import {
  argumentsText,
  givenText,
  returnedText,
  wholeCharactersMax,
  wholeRoundMax,
} from './v1-texts.ts';

const list = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });
const rowType = product(
  ['text', { kind: 'string' }],
  ['bytes', list({ kind: 'u8' })],
  ['numbers', list({ kind: 'u64' })],
  ['units', list(unitType)],
);
/** The name of rows that belong to no table says their type. */
const table = JSON.stringify({
  elements: [
    { name: { some: 'text' }, algebraic_type: { String: [] } },
    { name: { some: 'bytes' }, algebraic_type: { Array: { U8: [] } } },
    { name: { some: 'numbers' }, algebraic_type: { Array: { U64: [] } } },
    { name: { some: 'units' }, algebraic_type: { Array: { Product: { elements: [] } } } },
  ],
});

const whole: RowTexts = {
  list(_, rows) {
    const json = (row: Uint8Array) => encodedToJson(rowType, new BinaryReader(row), 'positional');
    return present(rowsText(rows, json), 'rows have no longest text');
  },
  written: ({ text }) => text,
  long: ({ pieces }) => [...pieces].join(''),
};

class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(count: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }
}

function randomRows(dice: Dice): RowList {
  const size = () => 4 ** dice.below(10);
  return rowListOf(
    Array.from({ length: dice.below(6) }, () => {
      const letter = ['a', 'é"', '€\\', '🙂\n', '\ud83d', '\0'][dice.below(6)] ?? '';
      return encodeValue(rowType, [
        letter.repeat(dice.below(size())),
        Uint8Array.from({ length: dice.below(size()) }, (_, at) => at % 256),
        Array.from({ length: dice.below(size() / 8) }, (_, at) => BigInt(at) ** 3n),
        new Array(dice.below(Math.min(60_000, size()))).fill([]),
      ]);
    }),
  );
}

describe('[websocket 9] a text message with long rows', () => {
  it('has the bytes of one that is written at once', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const dice = new Dice(seed);
    const format = textFormat(() => undefined);
    let lateCount = 0;
    for (let round = 0; round < 40; round += 1) {
      const updates = Array.from({ length: dice.below(3) }, () => {
        return { kind: 'plain', deletes: randomRows(dice), inserts: randomRows(dice) } as const;
      });
      const tables = [{ tableId: 1, table, rowCount: 1n, updates }];
      const answer = { requestId: round, durationMicros: 5n };
      const one = { kind: 'initialSubscription', tables, ...answer } as const;
      const rows = randomRows(dice);
      const messageId = Uint8Array.of(round);
      const oneOff = { table, rows };
      const messages = [
        one,
        { kind: 'transactionUpdateLight', tables, requestId: 1 },
        { kind: 'oneOffQueryResponse', messageId, error: undefined, tables: [oneOff], ...answer },
      ] as const;
      for (const message of messages) {
        const written = format.write(message);
        if (written instanceof LateMessage) lateCount += 1;
        const bytes = await bytesOf(written);
        const expected = new EncodedMessage(Buffer.from(serverMessageToText(message, whole)));
        const isSame = bytes.equals(Buffer.concat(expected.frame('text')));
        expect(isSame, `round ${round} of seed ${seed}`).toBe(true);
      }
    }
    expect(lateCount).toBeGreaterThan(0);
  });

  it('is written once for all that watch, and in many steps', async () => {
    const text = 'x'.repeat(10 * wholeCharactersMax);
    const rows = rowListOf([encodeValue(rowType, [text, noBytes, [], []])]);
    const update = {
      query: 1,
      tableId: 1,
      table,
      changes: [{ kind: 'rows', inserts: rows, deletes: rowListOf([]) }],
    } as unknown as Parameters<ReturnType<typeof textFormat>['rowsOf']>[0];
    const formats = [textFormat(() => undefined), textFormat(() => undefined)];
    const late = formats.map((format) => format.rowsOf(update)[0]?.late[0]);
    expect(late[0]).toBeInstanceOf(LateRows);
    expect(late[1]).toBe(late[0]);
    const first = formats.map((format) => {
      const updates = [{ kind: 'plain', deletes: rowListOf([]), inserts: rows }] as const;
      const tables = [{ tableId: 1, table, rowCount: 1n, updates }];
      const answer = { requestId: 1, durationMicros: 1n } as const;
      return format.write({ kind: 'initialSubscription', tables, ...answer });
    });
    const [one, other] = await Promise.all(first.map(bytesOf));
    expect(one?.equals(other ?? Buffer.of())).toBe(true);
    expect(late[0]?.parts.length).toBeGreaterThan(5);
  });

  it('has long arguments and values as they are when they are written at once', async () => {
    const format = textFormat(() => undefined);
    const text = '"quoted" 🙂'.repeat(20_000);
    const row = encodeValue(rowType, [text, noBytes, [], []]);
    const type = { type: rowType, typespace: { types: [] } };
    const json = encodedToJson(rowType, new BinaryReader(row), 'positional');
    const answer = { kind: 'procedureResult', timestamp: 1n, durationMicros: 1n, requestId: 1 };
    const call = { reducer: 'add', reducerId: 1, requestId: 1 };
    const ids = { callerIdentity: 1n, callerConnectionId: 2n, timestamp: 1n, energyUsed: 0n };
    const update = { kind: 'transactionUpdate', ...ids, durationMicros: 1n };
    const result = (value: ValueText) =>
      ({ ...answer, status: { kind: 'returned', value } }) as TextServerMessage;
    const echo = (args: ValueText) =>
      ({
        ...update,
        status: { kind: 'outOfEnergy' },
        call: { ...call, args },
      }) as TextServerMessage;
    const expected = (message: TextServerMessage) =>
      Buffer.concat(
        new EncodedMessage(Buffer.from(serverMessageToText(message, whole))).frame('text'),
      );
    for (const [message, same] of [
      [result(returnedText(type, row)), result(json)],
      [echo(argumentsText(type, row)), echo(json)],
      [echo(givenText(json)), echo(json)],
    ] as const) {
      const written = format.write(message as Parameters<typeof format.write>[0]);
      expect(written).toBeInstanceOf(LateMessage);
      expect((await bytesOf(written)).equals(expected(same))).toBe(true);
    }
    const units = new Array(300).fill(['u', unitType]) as ['u', AlgebraicType][];
    const wide = list(product(['x', { kind: 'bool' }], ...units));
    const bytes = encodeValue(wide, new Array(2_000).fill([true, ...units.map(() => [])]));
    const tooLong = result(returnedText({ type: wide, typespace: { types: [] } }, bytes));
    const written = await bytesOf(format.write(tooLong as Parameters<typeof format.write>[0]));
    expect(written.toString()).toContain('{"InternalError":"The procedure has run, but as JSON');
  });

  it('is written at once when it is short, up to so much in one round', async () => {
    await new Promise(setImmediate);
    const format = textFormat(() => undefined);
    const write = (length: number) => {
      const rows = rowListOf([encodeValue(rowType, ['x'.repeat(length), noBytes, [], []])]);
      const tables = [{ table, rows }];
      const messageId = Uint8Array.of(1);
      const answer = { messageId, error: undefined, tables, durationMicros: 1n } as const;
      return format.write({ kind: 'oneOffQueryResponse', ...answer });
    };
    const length = wholeCharactersMax / 2;
    expect(write(length)).toBeInstanceOf(EncodedMessage);
    for (let at = 0; at < wholeRoundMax / length; at += 1) write(length);
    expect(write(length)).toBeInstanceOf(LateMessage);
    expect(write(100)).toBeInstanceOf(EncodedMessage);
    await new Promise(setImmediate);
    expect(write(length)).toBeInstanceOf(EncodedMessage);
  });
});

describe('[websocket 10] in the queue of a connection', () => {
  it('what is still being written keeps its place', async () => {
    const { queue, writes } = queueOf();
    const late = [lateOf(gate(3)), lateOf(gate(1))];
    queue.push(small('a'));
    queue.push(late[0] as LateMessage);
    queue.push(small('b'));
    queue.push(late[1] as LateMessage);
    queue.push(small('c'));
    expect(queue.flush()).toBe(5);
    expect(writes).toEqual(['a']);
    expect(queue.flush()).toBe(0);
    await expect.poll(() => writes.join('')).toBe('a[012]b[0]c');
    expect([queue.messageCount, queue.byteCount]).toEqual([0, 0]);
  });

  it('[websocket 11] it counts with its rows, and with what is written so far', async () => {
    const backlog = new Backlog(1_000_000);
    const { queue } = queueOf({ bytesMax: 300_000, backlog });
    const long = 'x'.repeat(100_000);
    const overs: boolean[] = [];
    const pieces = gate(5, long);
    expect(queue.push(lateOf(pieces, 1_000), 0, () => overs.push(queue.fits))).toBe(true);
    expect([queue.messageCount, queue.byteCount, backlog.byteCount]).toEqual([1, 1_002, 1_002]);
    await expect.poll(() => overs.includes(false)).toBe(true);
    expect(overs[0]).toBe(true);
    queue.abandon();
    expect(backlog.byteCount).toBe(0);
  });

  it('nothing more is written for it once the connection has ended', async () => {
    const { queue } = queueOf();
    const other = queueOf();
    const pieces = gate(1_000_000);
    const message = lateOf(pieces);
    const grown: unknown[] = [];
    queue.push(message, 0, (fault) => grown.push(fault));
    other.queue.push(message);
    queue.abandon();
    await expect.poll(() => pieces.count).toBeGreaterThan(2);
    expect(message.isUsable).toBe(true);
    other.queue.abandon();
    await expect.poll(() => message.isUsable).toBe(false);
    expect(pieces.count).toBeLessThan(1_000_000);
    expect(grown).toEqual([]);
  });

  it('what cannot be written is a fault of those that wait for it', async () => {
    const { queue, writes } = queueOf();
    const fault = new JsonTooLongError(1);
    const faults: unknown[] = [];
    const grown: LateGrown = (fault) => faults.push(fault);
    const pieces = (function* () {
      yield 'a';
      throw fault;
    })();
    queue.push(new LateMessage(['', ''], [new LateRows(pieces, 1)]), 0, grown);
    await expect.poll(() => faults).toEqual([fault]);
    expect(writes).toEqual([]);
  });
});

const noBytes = new Uint8Array(0);
const small = (text: string) => new EncodedMessage(Buffer.from(text));

/** Pieces that are counted as they are taken. */
function gate(count: number, piece?: string): Iterable<string> & { readonly count: number } {
  const pieces = {
    count: 0,
    *[Symbol.iterator]() {
      for (let at = 0; at < count; at += 1) {
        pieces.count += 1;
        yield piece ?? String(at);
      }
    },
  };
  return pieces;
}

function lateOf(pieces: Iterable<string>, rowBytes = 1): LateMessage {
  return new LateMessage(['[', ']'], [new LateRows(pieces, rowBytes)]);
}

/** A queue whose socket takes everything; `writes`: the payloads of short frames. */
function queueOf(given: Partial<SendQueueOptions> = {}) {
  const writes: string[] = [];
  const socket = {
    write(chunks: readonly Uint8Array[], written: () => void) {
      for (let bytes = Buffer.concat(chunks); bytes.length > 0; ) {
        const end = 2 + bytes.readUInt8(1);
        writes.push(bytes.subarray(2, end).toString());
        bytes = bytes.subarray(end);
      }
      written();
    },
  } as unknown as Socket;
  const queue = new SendQueue(socket, {
    opcode: 'text',
    compression: 'none',
    packs: false,
    messagesMax: 100,
    bytesMax: 1_000_000,
    backlog: new Backlog(1_000_000),
    ...given,
  });
  onTestFinished(() => queue.abandon());
  return { queue, writes };
}

/** The frame of a message, once it is whole. */
async function bytesOf(message: EncodedMessage | LateMessage): Promise<Buffer> {
  if (message instanceof EncodedMessage) return Buffer.concat(message.frame('text'));
  await new Promise<void>((resolve, reject) => {
    const reader = {
      grown() {
        if (message.fault !== undefined) reject(message.fault);
        if (message.whole !== undefined) resolve();
      },
    };
    message.await(reader);
    reader.grown();
  });
  const { whole } = message;
  assert(whole !== undefined, 'a message that is whole');
  return Buffer.concat(whole.frame('text'));
}
