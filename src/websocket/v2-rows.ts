import type { EncodedRows } from '../protocol/message-parts.ts';
import type { RowList } from '../protocol/row-list.ts';
import {
  encodeRowList,
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
  const heads = tables.map(({ table, rows }): TableRows<EncodedRows> => {
    return { table, rows: { kind: 'encoded', bytes: headOf(rows) } };
  });
  const lengths = heads.map(({ table, rows }) => 4 + Buffer.byteLength(table) + rows.bytes.length);
  const bytes = encodeServerMessage(withTables(message, heads));
  let at = bytes.length - lengths.reduce((sum, length) => sum + length, 0);
  const parts = [bytes.subarray(0, at)];
  for (const [index, { rows }] of tables.entries()) {
    const length = lengths[index] ?? 0;
    parts.push(bytes.subarray(at, at + length), rows.data);
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

/** A row list up to its bytes, which follow it. */
function headOf(rows: RowList): Uint8Array {
  const head = encodeRowList({ ...rows, data: new Uint8Array(0) });
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  view.setUint32(head.length - 4, rows.data.length, true);
  return head;
}
