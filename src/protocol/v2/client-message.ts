/** The messages of a client in protocol v2, and v3, which packs the same messages into frames. */
import { unreachable } from '../../assert.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';
import {
  encodedBy,
  type MessageArm,
  RefusedMessageError,
  readQueries,
  readTagged,
  unknownTagOf,
  writeList,
  writeString,
} from '../message-parts.ts';

/** `requestId` is chosen by the client, 32 bits, and is repeated in the response. */
export type ClientMessage = Subscribe | Unsubscribe | OneOffQuery | CallReducer | CallProcedure;

/** Adds a set of queries under an id that the client chooses, 32 bits. */
export interface Subscribe {
  readonly kind: 'subscribe';
  readonly requestId: number;
  readonly querySetId: number;
  readonly queries: readonly string[];
}

export interface Unsubscribe {
  readonly kind: 'unsubscribe';
  readonly requestId: number;
  readonly querySetId: number;
  /** Whether the response includes the rows that the set matches. */
  readonly sendDroppedRows: boolean;
}

export interface OneOffQuery {
  readonly kind: 'oneOffQuery';
  readonly requestId: number;
  readonly query: string;
}

export interface CallReducer {
  readonly kind: 'callReducer';
  readonly requestId: number;
  readonly reducer: string;
  /** The encoded product of the arguments. */
  readonly args: Uint8Array;
}

export interface CallProcedure {
  readonly kind: 'callProcedure';
  readonly requestId: number;
  readonly procedure: string;
  /** The encoded product of the arguments. */
  readonly args: Uint8Array;
}

export function encodeClientMessage(message: ClientMessage): Uint8Array {
  return encodedBy((writer) => writeClientMessage(writer, message));
}

export function writeClientMessage(writer: BinaryWriter, message: ClientMessage): void {
  writer.u8(tags[message.kind]);
  writer.u32(message.requestId);
  switch (message.kind) {
    case 'subscribe':
      writer.u32(message.querySetId);
      writeList(writer, message.queries, writeString);
      return;
    case 'unsubscribe':
      writer.u32(message.querySetId);
      writer.u8(message.sendDroppedRows ? 1 : 0);
      return;
    case 'oneOffQuery':
      writer.string(message.query);
      return;
    case 'callReducer':
      writer.u8(0);
      writer.string(message.reducer);
      writer.bytes(message.args);
      return;
    case 'callProcedure':
      writer.u8(0);
      writer.string(message.procedure);
      writer.bytes(message.args);
      return;
    default:
      unreachable(message);
  }
}

/** Decodes the first message in `bytes` and ignores anything after it. Throws `DecodeError`. */
export function decodeClientMessage(bytes: Uint8Array): ClientMessage {
  return readClientMessage(new BinaryReader(bytes));
}

/** Reads one message. Its arguments are copies and do not retain the frame. */
export function readClientMessage(reader: BinaryReader): ClientMessage {
  return readTagged(reader, 'ClientMessage', clientArms);
}

const tags: Readonly<Record<ClientMessage['kind'], number>> = {
  subscribe: 0,
  unsubscribe: 1,
  oneOffQuery: 2,
  callReducer: 3,
  callProcedure: 4,
};

export const clientArms: readonly MessageArm<ClientMessage>[] = [
  { name: 'Subscribe', read: readSubscribe },
  { name: 'Unsubscribe', read: readUnsubscribe },
  { name: 'OneOffQuery', read: readOneOffQuery },
  { name: 'CallReducer', read: readCallReducer },
  { name: 'CallProcedure', read: readCallProcedure },
];

function readSubscribe(reader: BinaryReader): Subscribe {
  const requestId = reader.u32();
  const querySetId = reader.u32();
  return { kind: 'subscribe', requestId, querySetId, queries: readQueries(reader) };
}

function readUnsubscribe(reader: BinaryReader): Unsubscribe {
  const requestId = reader.u32();
  const querySetId = reader.u32();
  const flags = reader.u8();
  if (flags > 1) throw unknownTagOf('UnsubscribeFlags', flags);
  return { kind: 'unsubscribe', requestId, querySetId, sendDroppedRows: flags === 1 };
}

function readOneOffQuery(reader: BinaryReader): OneOffQuery {
  return { kind: 'oneOffQuery', requestId: reader.u32(), query: reader.string() };
}

function readCallReducer(reader: BinaryReader): CallReducer {
  const requestId = reader.u32();
  const flags = reader.u8();
  if (flags !== 0) throw new RefusedMessageError(`invalid call reducer flag ${flags}`);
  return { kind: 'callReducer', requestId, reducer: reader.string(), args: reader.bytes() };
}

function readCallProcedure(reader: BinaryReader): CallProcedure {
  const requestId = reader.u32();
  const flags = reader.u8();
  if (flags !== 0) throw new RefusedMessageError(`invalid call procedure flag ${flags}`);
  return { kind: 'callProcedure', requestId, procedure: reader.string(), args: reader.bytes() };
}
