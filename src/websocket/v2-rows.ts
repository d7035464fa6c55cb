import type { EncodedRows } from '../protocol/message-parts.ts';
import { type RowList, rowListParts } from '../protocol/row-list.ts';
import {
  encodeServerMessage,
  type OutgoingMessage,
  type ServerMessage,
  type TableRows,
  type TableUpdateRows,
} from '../protocol/v2/server-message.ts';
import { Outgoing } from './outgoing.ts';

/** A message whose rows are there; changes may be encoded already. */
export type PlainMessage = ServerMessage<RowList, TableUpdateRows | EncodedRows>;

/** From this size on, the rows of a message are sent from where they are. */
const largeBytesMin = 262_144;

/**
 * The message, whose rows are not copied when there are many. In all messages with rows the tables
 * are the last thing, each its name and its rows, so that the places of the rows follow from the
 * sizes of what is around them.
 */
export function encodedMessage(message: PlainMessage): Outgoing {
  const tables = tablesOf(message);
  const byteCount = tables.reduce((sum, { rows }) => sum + rows.data.length, 0);
  if (byteCount < largeBytesMin) return new Outgoing(encodeServerMessage(message));
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
  return new Outgoing(...parts);
}

function tablesOf(message: PlainMessage): readonly TableRows[] {
  switch (message.kind) {
    case 'subscribeApplied':
    case 'unsubscribeApplied':
      return message.tables ?? [];
    case 'oneOffQueryResult':
      return message.result.kind === 'ok' ? message.result.tables : [];
    default:
      return [];
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
    default:
      return message;
  }
}

const noRows: EncodedRows = { kind: 'encoded', bytes: new Uint8Array(0) };
