import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  v1ClientMessages,
  v1ServerMessages,
  v2Changes,
  v2ClientMessages,
  v2QuerySets,
  v2ServerMessages,
} from '../../test/support/arbitrary-messages.ts';
import { someRuns } from '../../test/support/share.ts';
import { limits } from '../limits.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { toHex } from '../values/hex.ts';
import type { EncodedRows } from './message-parts.ts';
import * as v1Client from './v1/client-message.ts';
import { clientMessageFromText } from './v1/client-text.ts';
import * as v1Server from './v1/server-message.ts';
import * as v2Client from './v2/client-message.ts';
import * as v2Server from './v2/server-message.ts';
import { clientMessagesIn, packClientMessages } from './v3.ts';

/** One sum of messages. `isExact`: each message has only one accepted encoding. */
interface Codec<Message> {
  readonly name: string;
  readonly messages: fc.Arbitrary<Message>;
  readonly encode: (message: Message) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Message;
  readonly isExact: boolean;
}

describeCodec({
  name: 'v2 client',
  messages: v2ClientMessages,
  encode: v2Client.encodeClientMessage,
  decode: v2Client.decodeClientMessage,
  isExact: true,
});
describeCodec({
  name: 'v2 server',
  messages: v2ServerMessages,
  encode: v2Server.encodeServerMessage,
  decode: v2Server.decodeServerMessage,
  isExact: true,
});
describeCodec({
  name: 'v1 client',
  messages: v1ClientMessages,
  encode: v1Client.encodeClientMessage,
  decode: v1Client.decodeClientMessage,
  isExact: true,
});
describeCodec({
  name: 'v1 server',
  messages: v1ServerMessages,
  encode: v1Server.encodeServerMessage,
  decode: v1Server.decodeServerMessage,
  // The response names its table twice.
  isExact: false,
});

function describeCodec<Message>(codec: Codec<Message>): void {
  const { messages, encode, decode } = codec;

  describe(`[websocket 6, 8] messages: ${codec.name}`, () => {
    it('come out as they went in, with whatever stands behind them', () => {
      fc.assert(
        fc.property(messages, fc.uint8Array({ maxLength: 5 }), (message, rest) => {
          const bytes = encode(message);
          expect(decode(bytes)).toEqual(message);
          expect(decode(Uint8Array.of(...bytes, ...rest))).toEqual(message);
        }),
      );
    });

    it('that are cut short are refused', () => {
      fc.assert(
        fc.property(messages, fc.nat(), (message, cut) => {
          const bytes = encode(message);
          expect(() => decode(bytes.subarray(0, cut % bytes.length))).toThrow(DecodeError);
        }),
      );
    });

    it('that are damaged are refused, or are no larger than their bytes', () => {
      const damages = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 4 });
      fc.assert(
        fc.property(messages, damages, (message, changes) => {
          const bytes = encode(message);
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          expectBounded(codec, bytes);
        }),
        { numRuns: someRuns(500) },
      );
    });

    it('with a huge count anywhere are refused, or are no larger than their bytes', () => {
      fc.assert(
        fc.property(messages, fc.constantFrom(0xff, 0x7f, 0x0f, 0x00), (message, highest) => {
          const valid = encode(message);
          for (let at = 0; at + 4 <= valid.length; at += 1) {
            const bytes = valid.slice();
            bytes.set([0xff, 0xff, 0xff, highest], at);
            expectBounded(codec, bytes);
          }
        }),
        { numRuns: 30 },
      );
    });
  });
}

/** Checks that a message decoded from `bytes`, if any, encodes to no more than `bytes`. */
function expectBounded<Message>({ encode, decode, isExact }: Codec<Message>, bytes: Uint8Array) {
  let message: Message;
  try {
    message = decode(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return;
  }
  const again = encode(message);
  if (isExact) expect(toHex(again)).toBe(toHex(bytes.subarray(0, again.length)));
  else expect(again.length).toBeLessThan(bytes.length * 2);
}

describe('[websocket 6] bytes from anywhere', () => {
  it('end in a message or in a DecodeError, for every kind of frame', () => {
    fc.assert(
      fc.property(fc.nat({ max: 12 }), fc.uint8Array({ maxLength: 200 }), (tag, rest) => {
        const bytes = Uint8Array.of(tag, ...rest);
        const decoders = [
          () => v1Client.decodeClientMessage(bytes),
          () => v1Server.decodeServerMessage(bytes),
          () => v2Client.decodeClientMessage(bytes),
          () => v2Server.decodeServerMessage(bytes),
          () => [...clientMessagesIn(bytes)],
          () => clientMessageFromText(String.fromCharCode(...bytes)),
        ];
        for (const decode of decoders) expectNoOtherError(decode);
      }),
      { numRuns: someRuns(1_000) },
    );
  });

  it('name the message and the byte of the fault', () => {
    expect(() => v2Client.decodeClientMessage(Uint8Array.of(2, 0, 0, 0, 0, 9, 0, 0, 0))).toThrow(
      /^data too short for \[u8\]: Expected 9, given 0, in OneOffQuery at byte 9$/,
    );
    expect(() => v2Client.decodeClientMessage(Uint8Array.of(9))).toThrow(
      /^unknown tag 0x9 for sum type ClientMessage$/,
    );
    expect(() => v2Client.decodeClientMessage(new Uint8Array(0))).toThrow(DecodeError);
  });
});

describe('[websocket 7] requests that are well formed and refused', () => {
  it('have flags that mean nothing', () => {
    for (const [tag, text] of [
      [3, 'invalid call reducer flag 7'],
      [4, 'invalid call procedure flag 7'],
    ] as const) {
      const bytes = Uint8Array.of(tag, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0);
      expect(() => v2Client.decodeClientMessage(bytes)).toThrow(new RegExp(`^${text}$`));
    }
    const call = {
      kind: 'callReducer',
      reducer: '',
      args: new Uint8Array(0),
      requestId: 0,
    } as const;
    const bytes = v1Client.encodeClientMessage({ ...call, notifySuccess: false });
    bytes[bytes.length - 1] = 2;
    expect(() => v1Client.decodeClientMessage(bytes)).toThrow(/^invalid call reducer flag 2$/);
  });

  it('hold more queries than a set may have', () => {
    const subscribe = (count: number) =>
      v2Client.encodeClientMessage({
        kind: 'subscribe',
        requestId: 0,
        querySetId: 0,
        queries: Array.from({ length: count }, () => ''),
      });
    const most = v2Client.decodeClientMessage(subscribe(limits.querySetQueriesMax));
    expect(most).toMatchObject({ kind: 'subscribe' });
    expect(() => v2Client.decodeClientMessage(subscribe(limits.querySetQueriesMax + 1))).toThrow(
      `${limits.querySetQueriesMax + 1} queries exceed`,
    );
  });
});

describe('[websocket 7] rows that are encoded once for all who watch them', () => {
  it('make the same update as rows that are encoded for each', () => {
    fc.assert(
      fc.property(v2QuerySets, (querySets) => {
        const spliced = querySets.map((set) => ({
          ...set,
          tables: set.tables.map(({ table, changes }) => ({
            table,
            changes: changes.map(splice),
          })),
        }));
        expect(v2Server.encodeTransactionUpdate(spliced)).toEqual(
          v2Server.encodeTransactionUpdate(querySets),
        );
      }),
    );
  });

  it('make the same initial rows, results and updates of v1', () => {
    fc.assert(
      fc.property(v2Changes, (changes) => {
        const rows = changes.kind === 'event' ? changes.events : changes.inserts;
        const encoded = { kind: 'encoded', bytes: v2Server.encodeRowList(rows) } as const;
        const applied = { kind: 'subscribeApplied', requestId: 1, querySetId: 2 } as const;
        const withRows = (part: typeof rows | EncodedRows) =>
          v2Server.encodeServerMessage({ ...applied, tables: [{ table: 't', rows: part }] });
        expect(withRows(encoded)).toEqual(withRows(rows));

        const update = { kind: 'plain', deletes: rows, inserts: rows } as const;
        const bytes = v1Server.encodeQueryUpdate(update);
        const light = (part: typeof update | EncodedRows) =>
          v1Server.encodeServerMessage({
            kind: 'transactionUpdateLight',
            requestId: 1,
            tables: [{ tableId: 1, table: 't', rowCount: 2n, updates: [part] }],
          });
        expect(light({ kind: 'encoded', bytes })).toEqual(light(update));
      }),
    );
  });
});

describe('[websocket 6] frames of v3', () => {
  it('give back the messages that were packed', () => {
    fc.assert(
      fc.property(fc.array(v2ClientMessages, { minLength: 1, maxLength: 6 }), (messages) => {
        const frames = packClientMessages(messages.map(v2Client.encodeClientMessage));
        expect(frames.flatMap((frame) => [...clientMessagesIn(frame)])).toEqual(messages);
      }),
    );
  });
});

function splice(changes: v2Server.TableUpdateRows): EncodedRows {
  return { kind: 'encoded', bytes: v2Server.encodeTableUpdateRows(changes) };
}

function expectNoOtherError(decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
  }
}
