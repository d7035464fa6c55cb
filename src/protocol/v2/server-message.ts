/** The messages of the server in protocol v2, and v3, which packs the same ones into frames. */
import { unreachable } from '../../assert.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';
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
  writeU32,
} from '../message-parts.ts';
import { type RowList, readRowList, rowListBytesMin, writeRowList } from '../row-list.ts';

/**
 * A decoded message. `Rows` represents the rows of a table and `Changes` their changes; in an
 * `OutgoingMessage` they may already be encoded.
 */
export type ServerMessage<Rows = RowList, Changes = TableUpdateRows> =
  | InitialConnection
  | SubscribeApplied<Rows>
  | UnsubscribeApplied<Rows>
  | SubscriptionError
  | TransactionUpdate<Changes>
  | OneOffQueryResult<Rows>
  | ReducerResult<Changes>
  | ProcedureResult;

export type OutgoingMessage = ServerMessage<RowList | EncodedRows, TableUpdateRows | EncodedRows>;

/** The first message of a connection. */
export interface InitialConnection {
  readonly kind: 'initialConnection';
  readonly identity: bigint;
  readonly connectionId: bigint;
  readonly token: string;
}

export interface SubscribeApplied<Rows = RowList> {
  readonly kind: 'subscribeApplied';
  readonly requestId: number;
  readonly querySetId: number;
  readonly tables: readonly TableRows<Rows>[];
}

export interface UnsubscribeApplied<Rows = RowList> {
  readonly kind: 'unsubscribeApplied';
  readonly requestId: number;
  readonly querySetId: number;
  /** The rows that the set matched, if the client asked for them. */
  readonly tables: readonly TableRows<Rows>[] | undefined;
}

/** A set was rejected, or (without `requestId`) failed later and was removed. */
export interface SubscriptionError {
  readonly kind: 'subscriptionError';
  readonly requestId: number | undefined;
  readonly querySetId: number;
  readonly error: string;
}

export interface TransactionUpdate<Changes = TableUpdateRows> {
  readonly kind: 'transactionUpdate';
  readonly querySets: readonly QuerySetUpdate<Changes>[];
}

export interface OneOffQueryResult<Rows = RowList> {
  readonly kind: 'oneOffQueryResult';
  readonly requestId: number;
  readonly result:
    | { readonly kind: 'ok'; readonly tables: readonly TableRows<Rows>[] }
    | { readonly kind: 'err'; readonly error: string };
}

export interface ReducerResult<Changes = TableUpdateRows> {
  readonly kind: 'reducerResult';
  readonly requestId: number;
  /** Microseconds since the Unix epoch. */
  readonly timestamp: bigint;
  readonly outcome: ReducerOutcome<Changes>;
}

export interface ProcedureResult {
  readonly kind: 'procedureResult';
  readonly status:
    | { readonly kind: 'returned'; readonly value: Uint8Array }
    | { readonly kind: 'internalError'; readonly message: string };
  /** Microseconds since the Unix epoch. */
  readonly timestamp: bigint;
  readonly durationMicros: bigint;
  readonly requestId: number;
}

/** Rows that one query of a set matches. */
export interface TableRows<Rows = RowList> {
  readonly table: string;
  readonly rows: Rows;
}

export interface QuerySetUpdate<Changes = TableUpdateRows> {
  readonly querySetId: number;
  readonly tables: readonly TableUpdate<Changes>[];
}

export interface TableUpdate<Changes = TableUpdateRows> {
  readonly table: string;
  /** One entry for each query of the set whose rows of this table changed. */
  readonly changes: readonly Changes[];
}

export type TableUpdateRows =
  | { readonly kind: 'persistent'; readonly inserts: RowList; readonly deletes: RowList }
  | { readonly kind: 'event'; readonly events: RowList };

export type ReducerOutcome<Changes = TableUpdateRows> =
  | {
      readonly kind: 'ok';
      readonly returned: Uint8Array;
      readonly querySets: readonly QuerySetUpdate<Changes>[];
    }
  | { readonly kind: 'okEmpty' }
  /** The encoded value that the reducer threw: an encoded string for its own errors. */
  | { readonly kind: 'err'; readonly error: Uint8Array }
  | { readonly kind: 'internalError'; readonly message: string };

export function encodeServerMessage(message: OutgoingMessage): Uint8Array {
  return encodedBy((writer) => writeServerMessage(writer, message));
}

/**
 * Encodes the changed rows of one query once for all subscribers. The result goes into an
 * `EncodedRows` of each message.
 */
export function encodeTableUpdateRows(changes: TableUpdateRows): Uint8Array {
  return encodedBy((writer) => writeTableUpdateRows(writer, changes));
}

/** Encodes rows of a table once for all messages that contain them as `EncodedRows`. */
export function encodeRowList(rows: RowList): Uint8Array {
  return encodedBy((writer) => writeRowList(writer, rows));
}

/** Encodes a `TransactionUpdate` around changes, which may already be encoded. */
export function encodeTransactionUpdate(
  querySets: readonly QuerySetUpdate<TableUpdateRows | EncodedRows>[],
): Uint8Array {
  return encodeServerMessage({ kind: 'transactionUpdate', querySets });
}

/** Appends the message, without the compression tag at the start of a frame. */
export function writeServerMessage(writer: BinaryWriter, message: OutgoingMessage): void {
  writer.u8(tags[message.kind]);
  switch (message.kind) {
    case 'initialConnection':
      writer.u256(message.identity);
      writer.u128(message.connectionId);
      writer.string(message.token);
      return;
    case 'subscribeApplied':
      writer.u32(message.requestId);
      writer.u32(message.querySetId);
      writeList(writer, message.tables, writeTableRows);
      return;
    case 'unsubscribeApplied':
      writer.u32(message.requestId);
      writer.u32(message.querySetId);
      writeOption(writer, message.tables, writeTables);
      return;
    case 'subscriptionError':
      writeOption(writer, message.requestId, writeU32);
      writer.u32(message.querySetId);
      writer.string(message.error);
      return;
    case 'transactionUpdate':
      writeList(writer, message.querySets, writeQuerySet);
      return;
    case 'oneOffQueryResult':
      writeOneOffQueryResult(writer, message);
      return;
    case 'reducerResult':
      writer.u32(message.requestId);
      writer.i64(message.timestamp);
      writeOutcome(writer, message.outcome);
      return;
    case 'procedureResult':
      writeProcedureResult(writer, message);
      return;
    default:
      unreachable(message);
  }
}

type OutgoingRows = RowList | EncodedRows;
type OutgoingChanges = TableUpdateRows | EncodedRows;

function writeTables(writer: BinaryWriter, tables: readonly TableRows<OutgoingRows>[]): void {
  writeList(writer, tables, writeTableRows);
}

function writeTableRows(writer: BinaryWriter, { table, rows }: TableRows<OutgoingRows>): void {
  writer.string(table);
  if (rows.kind === 'encoded') writer.raw(rows.bytes);
  else writeRowList(writer, rows);
}

function writeQuerySet(writer: BinaryWriter, set: QuerySetUpdate<OutgoingChanges>): void {
  writer.u32(set.querySetId);
  writeList(writer, set.tables, writeTableUpdate);
}

function writeTableUpdate(writer: BinaryWriter, update: TableUpdate<OutgoingChanges>): void {
  writer.string(update.table);
  writeList(writer, update.changes, writeTableUpdateRows);
}

function writeTableUpdateRows(writer: BinaryWriter, changes: OutgoingChanges): void {
  switch (changes.kind) {
    case 'encoded':
      writer.raw(changes.bytes);
      return;
    case 'persistent':
      writer.u8(0);
      writeRowList(writer, changes.inserts);
      writeRowList(writer, changes.deletes);
      return;
    case 'event':
      writer.u8(1);
      writeRowList(writer, changes.events);
      return;
    default:
      unreachable(changes);
  }
}

function writeOneOffQueryResult(
  writer: BinaryWriter,
  { requestId, result }: OneOffQueryResult<OutgoingRows>,
): void {
  writer.u32(requestId);
  writer.u8(result.kind === 'ok' ? 0 : 1);
  if (result.kind === 'ok') writeTables(writer, result.tables);
  else writer.string(result.error);
}

function writeOutcome(writer: BinaryWriter, outcome: ReducerOutcome<OutgoingChanges>): void {
  switch (outcome.kind) {
    case 'ok':
      writer.u8(0);
      writer.bytes(outcome.returned);
      writeList(writer, outcome.querySets, writeQuerySet);
      return;
    case 'okEmpty':
      writer.u8(1);
      return;
    case 'err':
      writer.u8(2);
      writer.bytes(outcome.error);
      return;
    case 'internalError':
      writer.u8(3);
      writer.string(outcome.message);
      return;
    default:
      unreachable(outcome);
  }
}

function writeProcedureResult(writer: BinaryWriter, message: ProcedureResult): void {
  const { status } = message;
  writer.u8(status.kind === 'returned' ? 0 : 1);
  if (status.kind === 'returned') writer.bytes(status.value);
  else writer.string(status.message);
  writer.i64(message.timestamp);
  writer.i64(message.durationMicros);
  writer.u32(message.requestId);
}

/** Decodes the first message in `bytes` and ignores anything after it. Throws `DecodeError`. */
export function decodeServerMessage(bytes: Uint8Array): ServerMessage {
  return readServerMessage(new BinaryReader(bytes));
}

/** Reads one message. Its rows and returned values are views of the input. */
export function readServerMessage(reader: BinaryReader): ServerMessage {
  return readTagged(reader, 'ServerMessage', serverArms);
}

const tags: Readonly<Record<ServerMessage['kind'], number>> = {
  initialConnection: 0,
  subscribeApplied: 1,
  unsubscribeApplied: 2,
  subscriptionError: 3,
  transactionUpdate: 4,
  oneOffQueryResult: 5,
  reducerResult: 6,
  procedureResult: 7,
};

export const serverArms: readonly MessageArm<ServerMessage>[] = [
  { name: 'InitialConnection', read: readInitialConnection },
  { name: 'SubscribeApplied', read: readSubscribeApplied },
  { name: 'UnsubscribeApplied', read: readUnsubscribeApplied },
  { name: 'SubscriptionError', read: readSubscriptionError },
  { name: 'TransactionUpdate', read: readTransactionUpdate },
  { name: 'OneOffQueryResult', read: readOneOffQueryResult },
  { name: 'ReducerResult', read: readReducerResult },
  { name: 'ProcedureResult', read: readProcedureResult },
];

function readInitialConnection(reader: BinaryReader): InitialConnection {
  const identity = reader.u256();
  const connectionId = reader.u128();
  return { kind: 'initialConnection', identity, connectionId, token: reader.string() };
}

function readSubscribeApplied(reader: BinaryReader): SubscribeApplied {
  const requestId = reader.u32();
  const querySetId = reader.u32();
  return { kind: 'subscribeApplied', requestId, querySetId, tables: readTables(reader) };
}

function readUnsubscribeApplied(reader: BinaryReader): UnsubscribeApplied {
  const requestId = reader.u32();
  const querySetId = reader.u32();
  const tables = readOption(reader, readTables);
  return { kind: 'unsubscribeApplied', requestId, querySetId, tables };
}

function readSubscriptionError(reader: BinaryReader): SubscriptionError {
  const requestId = readOption(reader, readU32);
  const querySetId = reader.u32();
  return { kind: 'subscriptionError', requestId, querySetId, error: reader.string() };
}

function readTransactionUpdate(reader: BinaryReader): TransactionUpdate {
  return { kind: 'transactionUpdate', querySets: readQuerySets(reader) };
}

function readOneOffQueryResult(reader: BinaryReader): OneOffQueryResult {
  const requestId = reader.u32();
  const tag = reader.u8();
  if (tag > 1) throw unknownTagOf('result', tag);
  const result: OneOffQueryResult['result'] =
    tag === 0
      ? { kind: 'ok', tables: readTables(reader) }
      : { kind: 'err', error: reader.string() };
  return { kind: 'oneOffQueryResult', requestId, result };
}

function readReducerResult(reader: BinaryReader): ReducerResult {
  const requestId = reader.u32();
  const timestamp = reader.i64();
  return { kind: 'reducerResult', requestId, timestamp, outcome: readOutcome(reader) };
}

function readOutcome(reader: BinaryReader): ReducerOutcome {
  const tag = reader.u8();
  switch (tag) {
    case 0: {
      const returned = readView(reader);
      return { kind: 'ok', returned, querySets: readQuerySets(reader) };
    }
    case 1:
      return { kind: 'okEmpty' };
    case 2:
      return { kind: 'err', error: readView(reader) };
    case 3:
      return { kind: 'internalError', message: reader.string() };
    default:
      throw unknownTagOf('ReducerOutcome', tag);
  }
}

function readProcedureResult(reader: BinaryReader): ProcedureResult {
  const tag = reader.u8();
  if (tag > 1) throw unknownTagOf('ProcedureStatus', tag);
  const status: ProcedureResult['status'] =
    tag === 0
      ? { kind: 'returned', value: readView(reader) }
      : { kind: 'internalError', message: reader.string() };
  const timestamp = reader.i64();
  const durationMicros = reader.i64();
  return { kind: 'procedureResult', status, timestamp, durationMicros, requestId: reader.u32() };
}

// Minimum size of an item: 4 for each count, id and length in it, and its tag.

function readTables(reader: BinaryReader): TableRows[] {
  return readList(reader, 4 + rowListBytesMin, readTableRows);
}

function readTableRows(reader: BinaryReader): TableRows {
  return { table: reader.string(), rows: readRowList(reader) };
}

function readQuerySets(reader: BinaryReader): QuerySetUpdate[] {
  return readList(reader, 8, readQuerySet);
}

function readQuerySet(reader: BinaryReader): QuerySetUpdate {
  return { querySetId: reader.u32(), tables: readList(reader, 8, readTableUpdate) };
}

function readTableUpdate(reader: BinaryReader): TableUpdate {
  return { table: reader.string(), changes: readList(reader, 8, readTableUpdateRows) };
}

function readTableUpdateRows(reader: BinaryReader): TableUpdateRows {
  const tag = reader.u8();
  switch (tag) {
    case 0: {
      const inserts = readRowList(reader);
      return { kind: 'persistent', inserts, deletes: readRowList(reader) };
    }
    case 1:
      return { kind: 'event', events: readRowList(reader) };
    default:
      throw unknownTagOf('TableUpdateRows', tag);
  }
}
