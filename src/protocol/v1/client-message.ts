/** The messages of a client of protocol v1, in binary; `client-text.ts` has their JSON. */
import { unreachable } from '../../assert.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';
import {
  encodedBy,
  type MessageArm,
  RefusedMessageError,
  readQueries,
  readTagged,
  writeList,
  writeString,
} from '../message-parts.ts';

/**
 * `requestId` and `queryId` are chosen by the client, 32 bits each. `Args` represents the arguments
 * of a call: their encoding, or the JSON of a text message.
 */
export type ClientMessage<Args = Uint8Array> =
  | CallReducer<Args>
  | Subscribe
  | OneOffQuery
  | SubscribeSingle
  | SubscribeMulti
  | Unsubscribe
  | UnsubscribeMulti
  | CallProcedure<Args>;

export interface CallReducer<Args = Uint8Array> {
  readonly kind: 'callReducer';
  readonly reducer: string;
  readonly args: Args;
  readonly requestId: number;
  /** Whether the client gets the outcome; otherwise it only receives updates, like others. */
  readonly notifySuccess: boolean;
}

/** Replaces all queries of the connection that were set by an earlier `Subscribe`. */
export interface Subscribe {
  readonly kind: 'subscribe';
  readonly queries: readonly string[];
  readonly requestId: number;
}

export interface OneOffQuery {
  readonly kind: 'oneOffQuery';
  readonly messageId: Uint8Array;
  readonly query: string;
}

export interface SubscribeSingle {
  readonly kind: 'subscribeSingle';
  readonly query: string;
  readonly requestId: number;
  readonly queryId: number;
}

export interface SubscribeMulti {
  readonly kind: 'subscribeMulti';
  readonly queries: readonly string[];
  readonly requestId: number;
  readonly queryId: number;
}

export interface Unsubscribe {
  readonly kind: 'unsubscribe';
  readonly requestId: number;
  readonly queryId: number;
}

export interface UnsubscribeMulti {
  readonly kind: 'unsubscribeMulti';
  readonly requestId: number;
  readonly queryId: number;
}

export interface CallProcedure<Args = Uint8Array> {
  readonly kind: 'callProcedure';
  readonly procedure: string;
  readonly args: Args;
  readonly requestId: number;
}

export function encodeClientMessage(message: ClientMessage): Uint8Array {
  return encodedBy((writer) => writeClientMessage(writer, message));
}

export function writeClientMessage(writer: BinaryWriter, message: ClientMessage): void {
  writer.u8(tags[message.kind]);
  switch (message.kind) {
    case 'callReducer':
      writer.string(message.reducer);
      writer.bytes(message.args);
      writer.u32(message.requestId);
      writer.u8(message.notifySuccess ? 0 : 1);
      return;
    case 'subscribe':
      writeList(writer, message.queries, writeString);
      writer.u32(message.requestId);
      return;
    case 'oneOffQuery':
      writer.bytes(message.messageId);
      writer.string(message.query);
      return;
    case 'subscribeSingle':
      writer.string(message.query);
      writer.u32(message.requestId);
      writer.u32(message.queryId);
      return;
    case 'subscribeMulti':
      writeList(writer, message.queries, writeString);
      writer.u32(message.requestId);
      writer.u32(message.queryId);
      return;
    case 'unsubscribe':
    case 'unsubscribeMulti':
      writer.u32(message.requestId);
      writer.u32(message.queryId);
      return;
    case 'callProcedure':
      writer.string(message.procedure);
      writer.bytes(message.args);
      writer.u32(message.requestId);
      writer.u8(0);
      return;
    default:
      unreachable(message);
  }
}

/** Decodes the first message in `bytes` and ignores anything after it. Throws `DecodeError`. */
export function decodeClientMessage(bytes: Uint8Array): ClientMessage {
  return readTagged(new BinaryReader(bytes), 'ClientMessage', arms);
}

/** Whether call flags request a notification of success. Throws for unknown flags. */
export function notifiesSuccess(flags: number): boolean {
  if (flags > 1) throw new RefusedMessageError(`invalid call reducer flag ${flags}`);
  return flags === 0;
}

/** Throws for any flags: a procedure has none. */
export function checkProcedureFlags(flags: number): void {
  if (flags !== 0) throw new RefusedMessageError(`invalid call procedure flag ${flags}`);
}

const tags: Readonly<Record<ClientMessage['kind'], number>> = {
  callReducer: 0,
  subscribe: 1,
  oneOffQuery: 2,
  subscribeSingle: 3,
  subscribeMulti: 4,
  unsubscribe: 5,
  unsubscribeMulti: 6,
  callProcedure: 7,
};

const arms: readonly MessageArm<ClientMessage>[] = [
  { name: 'CallReducer', read: readCallReducer },
  { name: 'Subscribe', read: readSubscribe },
  { name: 'OneOffQuery', read: readOneOffQuery },
  { name: 'SubscribeSingle', read: readSubscribeSingle },
  { name: 'SubscribeMulti', read: readSubscribeMulti },
  { name: 'Unsubscribe', read: (reader) => ({ kind: 'unsubscribe', ...readIds(reader) }) },
  {
    name: 'UnsubscribeMulti',
    read: (reader) => ({ kind: 'unsubscribeMulti', ...readIds(reader) }),
  },
  { name: 'CallProcedure', read: readCallProcedure },
];

function readCallReducer(reader: BinaryReader): CallReducer {
  const reducer = reader.string();
  const args = reader.bytes();
  const requestId = reader.u32();
  const notifySuccess = notifiesSuccess(reader.u8());
  return { kind: 'callReducer', reducer, args, requestId, notifySuccess };
}

function readSubscribe(reader: BinaryReader): Subscribe {
  const queries = readQueries(reader);
  return { kind: 'subscribe', queries, requestId: reader.u32() };
}

function readOneOffQuery(reader: BinaryReader): OneOffQuery {
  return { kind: 'oneOffQuery', messageId: reader.bytes(), query: reader.string() };
}

function readSubscribeSingle(reader: BinaryReader): SubscribeSingle {
  return { kind: 'subscribeSingle', query: reader.string(), ...readIds(reader) };
}

function readSubscribeMulti(reader: BinaryReader): SubscribeMulti {
  return { kind: 'subscribeMulti', queries: readQueries(reader), ...readIds(reader) };
}

function readCallProcedure(reader: BinaryReader): CallProcedure {
  const procedure = reader.string();
  const args = reader.bytes();
  const requestId = reader.u32();
  checkProcedureFlags(reader.u8());
  return { kind: 'callProcedure', procedure, args, requestId };
}

function readIds(reader: BinaryReader): { requestId: number; queryId: number } {
  return { requestId: reader.u32(), queryId: reader.u32() };
}
