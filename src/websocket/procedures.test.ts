import { describe, expect, it } from 'vitest';
import {
  askedType,
  failed,
  failures,
  lookUpDefinition,
  returned,
} from '../../test/support/procedure-handle.ts';
import { assert, present } from '../assert.ts';
import type { DatabaseDescription } from '../database/description.ts';
import type { ProcedureOutcome } from '../database/outcome.ts';
import { procedureErrorText } from '../doors/call-error-text.ts';
import type { LiveProcedure, LiveRequest } from '../host/feeds/live-connection.ts';
import { encodeClientMessage as encodeV1 } from '../protocol/v1/client-message.ts';
import { decodeServerMessage } from '../protocol/v1/server-message.ts';
import { encodeClientMessage } from '../protocol/v2/client-message.ts';
import { packClientMessages, serverMessagesIn } from '../protocol/v3.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { encodeValue } from '../values/encode.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { EncodedMessage } from './encoded-message.ts';
import type { MessageCodec } from './message-codec.ts';
import type { QueuedMessage } from './send-queue.ts';
import { v1Codec } from './v1.ts';
import { V2 } from './v2.ts';

const person = { identity: callerIdentity(1n), connectionId: connectionNumber(2n), token: 'token' };
const args = encodeValue(askedType, ['tea', 3]);
const described = (schemaVersion: number) => {
  return { definition: lookUpDefinition(), schemaVersion } as unknown as DatabaseDescription;
};
const live: { description: DatabaseDescription } = { description: described(1) };

/** One version of the messages: how a client asks, and what it gets. */
interface Speech {
  readonly codec: MessageCodec;
  /** What it sends. */
  asks(): { bytes: Uint8Array; isBinary: boolean };
  /** The only answer, as the fields that all versions have. */
  hears(message: QueuedMessage): object;
}

function bodyOf(message: QueuedMessage, opcode: 'binary' | 'text'): Uint8Array {
  assert(message instanceof EncodedMessage, 'answers of procedures are written at once');
  const bytes = Buffer.concat(message.frame(opcode));
  // The header of a frame is of 2 or 4 bytes; binary messages follow a byte for the compression.
  const start = (bytes.at(1) ?? 0) < 126 ? 2 : 4;
  return bytes.subarray(opcode === 'binary' ? start + 1 : start);
}

const call = { kind: 'callProcedure', requestId: 7, procedure: 'look_up', args } as const;

const versions: Readonly<Record<string, () => Speech>> = {
  v1: () => ({
    codec: v1Codec('v1.bsatn.spacetimedb', person, live),
    asks: () => ({ bytes: encodeV1(call), isBinary: true }),
    hears: (message) => decodeServerMessage(bodyOf(message, 'binary')),
  }),
  v2: () => ({
    codec: new V2('v2', person),
    asks: () => ({ bytes: encodeClientMessage(call), isBinary: true }),
    hears: (message) => present([...serverMessagesIn(bodyOf(message, 'binary'))][0], 'an answer'),
  }),
  v3: () => ({
    codec: new V2('v3', person),
    asks: () => ({
      bytes: present(packClientMessages([encodeClientMessage(call)])[0], 'a frame'),
      isBinary: true,
    }),
    hears: (message) => present([...serverMessagesIn(bodyOf(message, 'binary'))][0], 'an answer'),
  }),
};

async function ask({ codec, asks }: Speech): Promise<LiveProcedure> {
  codec.encode([{ kind: 'connected' }]);
  const { bytes, isBinary } = asks();
  const requests: LiveRequest[] = [];
  for (const request of codec.decode(bytes, isBinary)) requests.push(await request);
  const [request] = requests;
  if (request?.kind !== 'procedure') throw new Error('it asked for something else');
  return request;
}

function answer({ codec }: Speech, request: LiveProcedure, outcome: ProcedureOutcome) {
  return codec.encode([{ kind: 'procedure', request, outcome }]);
}

describe.each(Object.entries(versions))('a procedure over %s', (_, open) => {
  it('[websocket 6] is asked for with encoded arguments, and answered in full', async () => {
    const speech = open();
    const request = await ask(speech);
    expect(request).toEqual({
      kind: 'procedure',
      requestId: 7,
      procedure: 'look_up',
      args,
      schemaVersion: undefined,
    });
    const outcome = returned();
    const { messages, requests } = answer(speech, request, outcome);
    expect(requests).toEqual([]);
    expect(messages.map(speech.hears)).toEqual([
      {
        kind: 'procedureResult',
        requestId: 7,
        status: { kind: 'returned', value: 'value' in outcome && outcome.value },
        timestamp: 1_000_000n,
        durationMicros: 42n,
      },
    ]);
  });

  it.each(
    // Who encodes the arguments is not overtaken by an update.
    failures.filter(({ code }) => code !== 'schema.changed'),
  )('[websocket 6] that fails tells why: $code', async (error) => {
    const speech = open();
    const { messages } = answer(speech, await ask(speech), failed(error));
    expect(messages.map(speech.hears)).toEqual([
      {
        kind: 'procedureResult',
        requestId: 7,
        status: { kind: 'internalError', message: procedureErrorText(error) },
        timestamp: 0n,
        durationMicros: 0n,
      },
    ]);
  });

  it('[websocket 6] that was refused tells why', async () => {
    const speech = open();
    const request = await ask(speech);
    const body = { code: 'database.lost', message: 'it is gone' } as const;
    const { messages } = speech.codec.encode([{ kind: 'refused', request, body }]);
    expect(messages.map(speech.hears)).toMatchObject([
      { requestId: 7, status: { kind: 'internalError', message: 'it is gone' } },
    ]);
  });
});

describe('a procedure in the text of v1', () => {
  const open = () => {
    const codec = v1Codec('v1.json.spacetimedb', person, live);
    codec.encode([{ kind: 'connected' }]);
    return codec;
  };
  const asked = async (codec: MessageCodec, procedure: string, json: string) => {
    const fields = { procedure, args: json, request_id: 7, flags: 0 };
    const text = Buffer.from(JSON.stringify({ CallProcedure: fields }));
    const [request] = [...codec.decode(text, false)];
    return (await present(request, 'a request')) as LiveProcedure;
  };
  const heard = (message: QueuedMessage) => JSON.parse(bodyOf(message, 'text').toString());

  it('[websocket 8] takes its arguments as JSON, and gives its value as JSON', async () => {
    const codec = open();
    const request = await asked(codec, 'look_up', '["tea",3]');
    expect(request).toMatchObject({ procedure: 'look_up', args, schemaVersion: 1 });
    const { messages } = codec.encode([{ kind: 'procedure', request, outcome: returned() }]);
    expect(messages.map(heard)).toEqual([
      {
        ProcedureResult: {
          status: { Returned: '["tea",1152921504606846976]' },
          timestamp: { __timestamp_micros_since_unix_epoch__: 1_000_000 },
          total_host_execution_duration: { __time_duration_micros__: 42 },
          request_id: 7,
        },
      },
    ]);
  });

  it('[websocket 8] hands on what is wrong with the arguments, or the name', async () => {
    const codec = open();
    expect((await asked(codec, 'look_up', '["tea"]')).args).toMatchObject({
      fault: expect.stringContaining('length 1'),
    });
    expect((await asked(codec, 'look_up', '[')).args).toHaveProperty('fault');
    // A reducer is not a procedure.
    expect((await asked(codec, 'add', '[1]')).args).toEqual({ fault: 'No such procedure' });
  });

  it('[websocket 8] is asked for again when an update has overtaken it', async () => {
    const codec = open();
    const request = await asked(codec, 'look_up', '["tea",3]');
    live.description = described(2);
    const outcome = failed({ code: 'schema.changed' });
    const { messages, requests } = codec.encode([{ kind: 'procedure', request, outcome }]);
    expect(messages).toEqual([]);
    expect(await Promise.all(requests)).toMatchObject([{ args, schemaVersion: 2, requestId: 7 }]);
    live.description = described(1);
  });
});
