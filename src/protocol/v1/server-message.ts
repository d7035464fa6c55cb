/** The messages of the server in protocol v1, in binary; `text.ts` has them as JSON. */
import { unreachable } from '../../assert.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';
import { type Compression, compressionTags } from '../compression.ts';
import {
  type EncodedRows,
  encodedBy,
  type MessageArm,
  readList,
  readOption,
  readTagged,
  readU32,
  readView,
  unknownTagOf,
  writeList,
  writeOption,
  writeString,
  writeU32,
} from '../message-parts.ts';
import { type RowList, readRowList, rowListBytesMin, writeRowList } from '../row-list.ts';

/**
 * A decoded message. `Update` represents the changed rows of a query; in an `OutgoingMessage` they
 * may already be encoded. `Given` represents the arguments of a call and the value of a procedure:
 * their encoding, or the JSON of a text message.
 */
export type ServerMessage<Update = ReceivedUpdate, Given = Uint8Array> =
  | InitialSubscription<Update>
  | TransactionUpdate<Update, Given>
  | TransactionUpdateLight<Update>
  | IdentityToken
  | OneOffQueryResponse
  | SubscribeApplied<Update>
  | UnsubscribeApplied<Update>
  | SubscriptionError
  | SubscribeMultiApplied<Update>
  | UnsubscribeMultiApplied<Update>
  | ProcedureResult<Given>;

export type OutgoingMessage = ServerMessage<ReceivedUpdate | EncodedRows>;

/** Answers `Subscribe`. */
export interface InitialSubscription<Update = ReceivedUpdate> {
  readonly kind: 'initialSubscription';
  readonly tables: readonly TableUpdate<Update>[];
  readonly requestId: number;
  readonly durationMicros: bigint;
}

export interface TransactionUpdate<Update = ReceivedUpdate, Args = Uint8Array> {
  readonly kind: 'transactionUpdate';
  readonly status: UpdateStatus<Update>;
  /** Microseconds since the Unix epoch. */
  readonly timestamp: bigint;
  readonly callerIdentity: bigint;
  /** Zero for a caller without a connection. */
  readonly callerConnectionId: bigint;
  readonly call: ReducerCall<Args>;
  readonly energyUsed: bigint;
  readonly durationMicros: bigint;
}

export type UpdateStatus<Update = ReceivedUpdate> =
  | { readonly kind: 'committed'; readonly tables: readonly TableUpdate<Update>[] }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'outOfEnergy' };

export interface ReducerCall<Args = Uint8Array> {
  readonly reducer: string;
  readonly reducerId: number;
  readonly args: Args;
  readonly requestId: number;
}

export interface TransactionUpdateLight<Update = ReceivedUpdate> {
  readonly kind: 'transactionUpdateLight';
  readonly requestId: number;
  readonly tables: readonly TableUpdate<Update>[];
}

/** The first message of a connection. */
export interface IdentityToken {
  readonly kind: 'identityToken';
  readonly identity: bigint;
  readonly token: string;
  readonly connectionId: bigint;
}

export interface OneOffQueryResponse {
  readonly kind: 'oneOffQueryResponse';
  readonly messageId: Uint8Array;
  readonly error: string | undefined;
  readonly tables: readonly { readonly table: string; readonly rows: RowList }[];
  readonly durationMicros: bigint;
}

/** Answers `SubscribeSingle`. */
export interface SubscribeApplied<Update = ReceivedUpdate> extends SingleAnswer<Update> {
  readonly kind: 'subscribeApplied';
}

/** Answers `Unsubscribe`; the rows that are no longer watched are deletes. */
export interface UnsubscribeApplied<Update = ReceivedUpdate> extends SingleAnswer<Update> {
  readonly kind: 'unsubscribeApplied';
}

interface SingleAnswer<Update> {
  readonly requestId: number;
  readonly durationMicros: bigint;
  readonly queryId: number;
  readonly rows: TableUpdate<Update>;
}

export interface SubscriptionError {
  readonly kind: 'subscriptionError';
  readonly durationMicros: bigint;
  readonly requestId: number | undefined;
  /** If absent, all subscriptions of the connection have ended. */
  readonly queryId: number | undefined;
  readonly tableId: number | undefined;
  readonly error: string;
}

/** Answers `SubscribeMulti`. */
export interface SubscribeMultiApplied<Update = ReceivedUpdate> extends MultiAnswer<Update> {
  readonly kind: 'subscribeMultiApplied';
}

/** Answers `UnsubscribeMulti`; the rows that are no longer watched are deletes. */
export interface UnsubscribeMultiApplied<Update = ReceivedUpdate> extends MultiAnswer<Update> {
  readonly kind: 'unsubscribeMultiApplied';
}

interface MultiAnswer<Update> {
  readonly requestId: number;
  readonly durationMicros: bigint;
  readonly queryId: number;
  readonly tables: readonly TableUpdate<Update>[];
}

export interface ProcedureResult<Value = Uint8Array> {
  readonly kind: 'procedureResult';
  readonly status:
    | { readonly kind: 'returned'; readonly value: Value }
    | { readonly kind: 'outOfEnergy' }
    | { readonly kind: 'internalError'; readonly message: string };
  /** Microseconds since the Unix epoch. */
  readonly timestamp: bigint;
  readonly durationMicros: bigint;
  readonly requestId: number;
}

export interface TableUpdate<Update = ReceivedUpdate> {
  readonly tableId: number;
  readonly table: string;
  /** Total number of deletes and inserts in `updates`. */
  readonly rowCount: bigint;
  /** One for each query whose rows of this table changed. */
  readonly updates: readonly Update[];
}

/** Inserted and deleted rows of one query. */
export interface QueryUpdate {
  readonly kind: 'plain';
  readonly deletes: RowList;
  readonly inserts: RowList;
}

/** The encoding of a `QueryUpdate`, compressed separately; our server sends none. */
export interface CompressedUpdate {
  readonly kind: 'compressed';
  readonly compression: Exclude<Compression, 'none'>;
  readonly bytes: Uint8Array;
}

export type ReceivedUpdate = QueryUpdate | CompressedUpdate;

type AnyUpdate = ReceivedUpdate | EncodedRows;

export function encodeServerMessage(message: OutgoingMessage): Uint8Array {
  return encodedBy((writer) => writeServerMessage(writer, message));
}

/**
 * Encodes the changed rows of one query once for all subscribers. The result goes into an
 * `EncodedRows` of each message.
 */
export function encodeQueryUpdate(update: QueryUpdate): Uint8Array {
  return encodedBy((writer) => writeUpdate(writer, update));
}

/** Appends the message, without the compression tag at the start of a frame. */
export function writeServerMessage(writer: BinaryWriter, message: OutgoingMessage): void {
  writer.u8(tags[message.kind]);
  switch (message.kind) {
    case 'initialSubscription':
      writeList(writer, message.tables, writeTableUpdate);
      writer.u32(message.requestId);
      writer.i64(message.durationMicros);
      return;
    case 'transactionUpdate':
      writeTransactionUpdate(writer, message);
      return;
    case 'transactionUpdateLight':
      writer.u32(message.requestId);
      writeList(writer, message.tables, writeTableUpdate);
      return;
    case 'identityToken':
      writer.u256(message.identity);
      writer.string(message.token);
      writer.u128(message.connectionId);
      return;
    case 'oneOffQueryResponse':
      writeOneOffQueryResponse(writer, message);
      return;
    case 'subscribeApplied':
    case 'unsubscribeApplied':
      writeSingleAnswer(writer, message);
      return;
    case 'subscriptionError':
      writeSubscriptionError(writer, message);
      return;
    case 'subscribeMultiApplied':
    case 'unsubscribeMultiApplied':
      writeMultiAnswer(writer, message);
      return;
    case 'procedureResult':
      writeProcedureResult(writer, message);
      return;
    default:
      unreachable(message);
  }
}

function writeTransactionUpdate(writer: BinaryWriter, message: TransactionUpdate<AnyUpdate>): void {
  writeStatus(writer, message.status);
  writer.i64(message.timestamp);
  writer.u256(message.callerIdentity);
  writer.u128(message.callerConnectionId);
  writer.string(message.call.reducer);
  writer.u32(message.call.reducerId);
  writer.bytes(message.call.args);
  writer.u32(message.call.requestId);
  writer.u128(message.energyUsed);
  writer.i64(message.durationMicros);
}

function writeStatus(writer: BinaryWriter, status: UpdateStatus<AnyUpdate>): void {
  switch (status.kind) {
    case 'committed':
      writer.u8(0);
      writeList(writer, status.tables, writeTableUpdate);
      return;
    case 'failed':
      writer.u8(1);
      writer.string(status.message);
      return;
    case 'outOfEnergy':
      writer.u8(2);
      return;
    default:
      unreachable(status);
  }
}

function writeOneOffQueryResponse(writer: BinaryWriter, message: OneOffQueryResponse): void {
  writer.bytes(message.messageId);
  writeOption(writer, message.error, writeString);
  writeList(writer, message.tables, (_writer, { table, rows }) => {
    writer.string(table);
    writeRowList(writer, rows);
  });
  writer.i64(message.durationMicros);
}

function writeSingleAnswer(writer: BinaryWriter, message: SingleAnswer<AnyUpdate>): void {
  writer.u32(message.requestId);
  writer.u64(message.durationMicros);
  writer.u32(message.queryId);
  writer.u32(message.rows.tableId);
  writer.string(message.rows.table);
  writeTableUpdate(writer, message.rows);
}

function writeSubscriptionError(writer: BinaryWriter, message: SubscriptionError): void {
  writer.u64(message.durationMicros);
  writeOption(writer, message.requestId, writeU32);
  writeOption(writer, message.queryId, writeU32);
  writeOption(writer, message.tableId, writeU32);
  writer.string(message.error);
}

function writeMultiAnswer(writer: BinaryWriter, message: MultiAnswer<AnyUpdate>): void {
  writer.u32(message.requestId);
  writer.u64(message.durationMicros);
  writer.u32(message.queryId);
  writeList(writer, message.tables, writeTableUpdate);
}

function writeProcedureResult(writer: BinaryWriter, message: ProcedureResult): void {
  const { status } = message;
  switch (status.kind) {
    case 'returned':
      writer.u8(0);
      writer.bytes(status.value);
      break;
    case 'outOfEnergy':
      writer.u8(1);
      break;
    case 'internalError':
      writer.u8(2);
      writer.string(status.message);
      break;
    default:
      unreachable(status);
  }
  writer.i64(message.timestamp);
  writer.i64(message.durationMicros);
  writer.u32(message.requestId);
}

function writeTableUpdate(writer: BinaryWriter, update: TableUpdate<AnyUpdate>): void {
  writer.u32(update.tableId);
  writer.string(update.table);
  writer.u64(update.rowCount);
  writeList(writer, update.updates, writeUpdate);
}

function writeUpdate(writer: BinaryWriter, update: AnyUpdate): void {
  switch (update.kind) {
    case 'encoded':
      writer.raw(update.bytes);
      return;
    case 'plain':
      writer.u8(compressionTags.none);
      writeRowList(writer, update.deletes);
      writeRowList(writer, update.inserts);
      return;
    case 'compressed':
      writer.u8(compressionTags[update.compression]);
      writer.bytes(update.bytes);
      return;
    default:
      unreachable(update);
  }
}

/** Decodes the first message in `bytes` and ignores anything after it. Throws `DecodeError`. */
export function decodeServerMessage(bytes: Uint8Array): ServerMessage {
  return readTagged(new BinaryReader(bytes), 'ServerMessage', arms);
}

const tags: Readonly<Record<ServerMessage['kind'], number>> = {
  initialSubscription: 0,
  transactionUpdate: 1,
  transactionUpdateLight: 2,
  identityToken: 3,
  oneOffQueryResponse: 4,
  subscribeApplied: 5,
  unsubscribeApplied: 6,
  subscriptionError: 7,
  subscribeMultiApplied: 8,
  unsubscribeMultiApplied: 9,
  procedureResult: 10,
};

const arms: readonly MessageArm<ServerMessage>[] = [
  { name: 'InitialSubscription', read: readInitialSubscription },
  { name: 'TransactionUpdate', read: readTransactionUpdate },
  { name: 'TransactionUpdateLight', read: readTransactionUpdateLight },
  { name: 'IdentityToken', read: readIdentityToken },
  { name: 'OneOffQueryResponse', read: readOneOffQueryResponse },
  {
    name: 'SubscribeApplied',
    read: (reader) => ({ kind: 'subscribeApplied', ...readSingleAnswer(reader) }),
  },
  {
    name: 'UnsubscribeApplied',
    read: (reader) => ({ kind: 'unsubscribeApplied', ...readSingleAnswer(reader) }),
  },
  { name: 'SubscriptionError', read: readSubscriptionError },
  {
    name: 'SubscribeMultiApplied',
    read: (reader) => ({ kind: 'subscribeMultiApplied', ...readMultiAnswer(reader) }),
  },
  {
    name: 'UnsubscribeMultiApplied',
    read: (reader) => ({ kind: 'unsubscribeMultiApplied', ...readMultiAnswer(reader) }),
  },
  { name: 'ProcedureResult', read: readProcedureResult },
];

function readInitialSubscription(reader: BinaryReader): InitialSubscription {
  const tables = readTables(reader);
  const requestId = reader.u32();
  return { kind: 'initialSubscription', tables, requestId, durationMicros: reader.i64() };
}

function readTransactionUpdate(reader: BinaryReader): TransactionUpdate {
  const status = readStatus(reader);
  const timestamp = reader.i64();
  const callerIdentity = reader.u256();
  const callerConnectionId = reader.u128();
  const call: ReducerCall = {
    reducer: reader.string(),
    reducerId: reader.u32(),
    args: readView(reader),
    requestId: reader.u32(),
  };
  const energyUsed = reader.u128();
  const durationMicros = reader.i64();
  const caller = { callerIdentity, callerConnectionId };
  return {
    kind: 'transactionUpdate',
    status,
    timestamp,
    ...caller,
    call,
    energyUsed,
    durationMicros,
  };
}

function readStatus(reader: BinaryReader): UpdateStatus {
  const tag = reader.u8();
  switch (tag) {
    case 0:
      return { kind: 'committed', tables: readTables(reader) };
    case 1:
      return { kind: 'failed', message: reader.string() };
    case 2:
      return { kind: 'outOfEnergy' };
    default:
      throw unknownTagOf('UpdateStatus', tag);
  }
}

function readTransactionUpdateLight(reader: BinaryReader): TransactionUpdateLight {
  const requestId = reader.u32();
  return { kind: 'transactionUpdateLight', requestId, tables: readTables(reader) };
}

function readIdentityToken(reader: BinaryReader): IdentityToken {
  const identity = reader.u256();
  const token = reader.string();
  return { kind: 'identityToken', identity, token, connectionId: reader.u128() };
}

function readOneOffQueryResponse(reader: BinaryReader): OneOffQueryResponse {
  const messageId = readView(reader);
  const error = readOption(reader, (inner) => inner.string());
  const tables = readList(reader, 4 + rowListBytesMin, (inner) => ({
    table: inner.string(),
    rows: readRowList(inner),
  }));
  const durationMicros = reader.i64();
  return { kind: 'oneOffQueryResponse', messageId, error, tables, durationMicros };
}

/** Reads an answer that names its table twice; the name beside the rows counts. */
function readSingleAnswer(reader: BinaryReader): SingleAnswer<ReceivedUpdate> {
  const requestId = reader.u32();
  const durationMicros = reader.u64();
  const queryId = reader.u32();
  reader.u32();
  reader.string();
  return { requestId, durationMicros, queryId, rows: readTableUpdate(reader) };
}

function readSubscriptionError(reader: BinaryReader): SubscriptionError {
  const durationMicros = reader.u64();
  const requestId = readOption(reader, readU32);
  const queryId = readOption(reader, readU32);
  const tableId = readOption(reader, readU32);
  const error = reader.string();
  return { kind: 'subscriptionError', durationMicros, requestId, queryId, tableId, error };
}

function readMultiAnswer(reader: BinaryReader): MultiAnswer<ReceivedUpdate> {
  const requestId = reader.u32();
  const durationMicros = reader.u64();
  const queryId = reader.u32();
  return { requestId, durationMicros, queryId, tables: readTables(reader) };
}

function readProcedureResult(reader: BinaryReader): ProcedureResult {
  const status = readProcedureStatus(reader);
  const timestamp = reader.i64();
  const durationMicros = reader.i64();
  return { kind: 'procedureResult', status, timestamp, durationMicros, requestId: reader.u32() };
}

function readProcedureStatus(reader: BinaryReader): ProcedureResult['status'] {
  const tag = reader.u8();
  switch (tag) {
    case 0:
      return { kind: 'returned', value: readView(reader) };
    case 1:
      return { kind: 'outOfEnergy' };
    case 2:
      return { kind: 'internalError', message: reader.string() };
    default:
      throw unknownTagOf('ProcedureStatus', tag);
  }
}

// Minimum size of an item: 4 for each count, id and length in it, 8 for its count of rows.

function readTables(reader: BinaryReader): TableUpdate[] {
  return readList(reader, 20, readTableUpdate);
}

function readTableUpdate(reader: BinaryReader): TableUpdate {
  return {
    tableId: reader.u32(),
    table: reader.string(),
    rowCount: reader.u64(),
    updates: readList(reader, 5, readUpdate),
  };
}

function readUpdate(reader: BinaryReader): ReceivedUpdate {
  const tag = reader.u8();
  switch (tag) {
    case compressionTags.none: {
      const deletes = readRowList(reader);
      return { kind: 'plain', deletes, inserts: readRowList(reader) };
    }
    case compressionTags.brotli:
      return { kind: 'compressed', compression: 'brotli', bytes: readView(reader) };
    case compressionTags.gzip:
      return { kind: 'compressed', compression: 'gzip', bytes: readView(reader) };
    default:
      throw unknownTagOf('CompressableQueryUpdate', tag);
  }
}
