import { unreachable } from '../assert.ts';
import type { EncodedRows } from '../protocol/message-parts.ts';
import { type RowList, rowListCount, rowListParts } from '../protocol/row-list.ts';
import {
  encodeServerMessage,
  type OutgoingMessage,
  type ServerMessage,
  type TableRows,
  type TableUpdateRows,
} from '../protocol/v2/server-message.ts';
import { EncodedMessage } from './encoded-message.ts';

/** A message that holds its rows; changes may already be encoded. */
export type PlainMessage = ServerMessage<RowList, TableUpdateRows | EncodedRows>;

/** From this size, the rows of a message are sent from their own buffer. */
const largeBytesMin = 262_144;

/** From this size, messages with the same row buffers share one encoding. */
const sharedBytesMin = 4_096;

/**
 * Encodes a message. Clients that subscribe alike at once, as all do after a restart, get the same
 * message, so it is encoded, framed and compressed once. `forgetApplied` ends the sharing.
 */
export function encodedMessage(message: PlainMessage): EncodedMessage {
  if (message.kind !== 'subscribeApplied') return encoded(message);
  if (lastApplied !== undefined && isSame(lastApplied.message, message)) return lastApplied.bytes;
  const bytes = encoded(message);
  if (bytesOfRows(message) >= sharedBytesMin) lastApplied = { message, bytes };
  return bytes;
}

/** Releases the rows, once no other client can share them. */
export function forgetApplied(): void {
  lastApplied = undefined;
}

type Applied = Extract<PlainMessage, { kind: 'subscribeApplied' }>;
let lastApplied: { readonly message: Applied; readonly bytes: EncodedMessage } | undefined;

function isSame(one: Applied, other: Applied): boolean {
  return (
    one.requestId === other.requestId &&
    one.querySetId === other.querySetId &&
    one.tables.length === other.tables.length &&
    one.tables.every(({ table, rows }, at) => {
      const of = other.tables[at];
      return of?.table === table && (of.rows.data === rows.data || areEmpty(of.rows, rows));
    })
  );
}

function areEmpty(one: RowList, other: RowList): boolean {
  return rowListCount(one) === 0 && rowListCount(other) === 0;
}

function bytesOfRows(message: PlainMessage): number {
  return tablesWithRows(message).reduce((sum, { rows }) => sum + rows.data.length, 0);
}

/**
 * Encodes a message without copying its rows if they are large. In all messages with rows, the
 * tables come last, each as its name and its rows, so the positions of the rows follow from the
 * sizes of the surrounding parts.
 */
function encoded(message: PlainMessage): EncodedMessage {
  if (bytesOfRows(message) < largeBytesMin) return new EncodedMessage(encodeServerMessage(message));
  const tables = tablesWithRows(message);
  const heads = tables.map(({ table }): TableRows<EncodedRows> => ({ table, rows: noRows }));
  const lengths = tables.map(({ table }) => 4 + Buffer.byteLength(table));
  const bytes = encodeServerMessage(withTables(message, heads));
  let at = bytes.length - lengths.reduce((sum, length) => sum + length, 0);
  const parts = [bytes.subarray(0, at)];
  for (const [index, { rows }] of tables.entries()) {
    const length = lengths[index] ?? 0;
    parts.push(bytes.subarray(at, at + length), ...rowListParts(rows));
    at += length;
  }
  return new EncodedMessage(...parts);
}

function tablesWithRows(message: PlainMessage): readonly TableRows[] {
  switch (message.kind) {
    case 'subscribeApplied':
    case 'unsubscribeApplied':
      return message.tables ?? [];
    case 'oneOffQueryResult':
      return message.result.kind === 'ok' ? message.result.tables : [];
    case 'initialConnection':
    case 'subscriptionError':
    case 'transactionUpdate':
    case 'reducerResult':
    case 'procedureResult':
      return [];
    default:
      return unreachable(message);
  }
}

function withTables(
  message: PlainMessage,
  tables: readonly TableRows<EncodedRows>[],
): OutgoingMessage {
  switch (message.kind) {
    case 'subscribeApplied':
    case 'unsubscribeApplied':
      return { ...message, tables };
    case 'oneOffQueryResult':
      return { ...message, result: { kind: 'ok', tables } };
    case 'initialConnection':
    case 'subscriptionError':
    case 'transactionUpdate':
    case 'reducerResult':
    case 'procedureResult':
      return message;
    default:
      return unreachable(message);
  }
}

const noRows: EncodedRows = { kind: 'encoded', bytes: new Uint8Array(0) };
