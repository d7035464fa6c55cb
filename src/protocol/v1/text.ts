/**
 * Protocol v1 messages to clients as JSON, one object in each text frame: `{"Variant":{fields}}`.
 * Rows, arguments and returned values are strings that themselves contain JSON.
 */
import { unreachable } from '../../assert.ts';
import { toHex } from '../../values/hex.ts';
import { type RowList, rowsOf } from '../row-list.ts';
import type {
  ProcedureResult,
  QueryUpdate,
  ServerMessage,
  SubscriptionError,
  TableUpdate,
  TransactionUpdate,
  UpdateStatus,
} from './server-message.ts';

/** A server message whose call arguments and procedure values are JSON. */
export type TextServerMessage = ServerMessage<QueryUpdate | UpdateText, string>;

/** Rows as JSON that was written once for all receivers of the message. */
export interface UpdateText {
  readonly kind: 'text';
  readonly text: string;
}

/** Converts an encoded row of a table to JSON. */
export type RowToJson = (table: string, row: Uint8Array) => string;

/** Returns the text frame of a message. */
export function serverMessageToText(message: TextServerMessage, rowToJson: RowToJson): string {
  switch (message.kind) {
    case 'initialSubscription':
      return (
        `{"InitialSubscription":{"database_update":${tablesText(message.tables, rowToJson)},` +
        `"request_id":${message.requestId},${durationText(message.durationMicros)}}}`
      );
    case 'transactionUpdate':
      return transactionUpdateText(message, rowToJson);
    case 'transactionUpdateLight':
      return (
        `{"TransactionUpdateLight":{"request_id":${message.requestId},` +
        `"update":${tablesText(message.tables, rowToJson)}}}`
      );
    case 'identityToken':
      return (
        `{"IdentityToken":{"identity":${identityText(message.identity)},` +
        `"token":${JSON.stringify(message.token)},` +
        `"connection_id":${connectionIdText(message.connectionId)}}}`
      );
    case 'oneOffQueryResponse': {
      const tables = message.tables.map(
        ({ table, rows }) =>
          `{"table_name":${JSON.stringify(table)},"rows":${rowsText(table, rows, rowToJson)}}`,
      );
      const error = message.error === undefined ? undefined : JSON.stringify(message.error);
      return (
        `{"OneOffQueryResponse":{"message_id":"${toHex(message.messageId)}",` +
        `"error":${optionText(error)},"tables":[${tables.join(',')}],` +
        `${durationText(message.durationMicros)}}}`
      );
    }
    case 'subscribeApplied':
      return `{"SubscribeApplied":${singleAnswerText(message, rowToJson)}}`;
    case 'unsubscribeApplied':
      return `{"UnsubscribeApplied":${singleAnswerText(message, rowToJson)}}`;
    case 'subscriptionError':
      return subscriptionErrorText(message);
    case 'subscribeMultiApplied':
      return `{"SubscribeMultiApplied":${multiAnswerText(message, rowToJson)}}`;
    case 'unsubscribeMultiApplied':
      return `{"UnsubscribeMultiApplied":${multiAnswerText(message, rowToJson)}}`;
    case 'procedureResult':
      return procedureResultText(message);
    default:
      return unreachable(message);
  }
}

/** Writes the changed rows of one query of `table` as JSON, once for all subscribers. */
export function queryUpdateText(table: string, update: QueryUpdate, rowToJson: RowToJson): string {
  const deletes = rowsText(table, update.deletes, rowToJson);
  return `{"deletes":${deletes},"inserts":${rowsText(table, update.inserts, rowToJson)}}`;
}

type TextTable = TableUpdate<QueryUpdate | UpdateText>;
type TextOf<Kind extends TextServerMessage['kind']> = Extract<TextServerMessage, { kind: Kind }>;

function transactionUpdateText(
  message: TransactionUpdate<QueryUpdate | UpdateText, string>,
  rowToJson: RowToJson,
): string {
  const { call } = message;
  return (
    `{"TransactionUpdate":{"status":${statusText(message.status, rowToJson)},` +
    `${timestampText(message.timestamp)},` +
    `"caller_identity":${identityText(message.callerIdentity)},` +
    `"caller_connection_id":${connectionIdText(message.callerConnectionId)},` +
    `"reducer_call":{"reducer_name":${JSON.stringify(call.reducer)},` +
    `"reducer_id":${call.reducerId},"args":${JSON.stringify(call.args)},` +
    `"request_id":${call.requestId}},"energy_quanta_used":{"quanta":${message.energyUsed}},` +
    `${durationText(message.durationMicros)}}}`
  );
}

function statusText(status: UpdateStatus<QueryUpdate | UpdateText>, rowToJson: RowToJson): string {
  switch (status.kind) {
    case 'committed':
      return `{"Committed":${tablesText(status.tables, rowToJson)}}`;
    case 'failed':
      return `{"Failed":${JSON.stringify(status.message)}}`;
    case 'outOfEnergy':
      return '{"OutOfEnergy":[]}';
    default:
      return unreachable(status);
  }
}

function singleAnswerText(
  message: TextOf<'subscribeApplied' | 'unsubscribeApplied'>,
  rowToJson: RowToJson,
): string {
  const { tableId, table } = message.rows;
  return (
    `{"request_id":${message.requestId},` +
    `"total_host_execution_duration_micros":${message.durationMicros},` +
    `"query_id":{"id":${message.queryId}},"rows":{"table_id":${tableId},` +
    `"table_name":${JSON.stringify(table)},"table_rows":${tableText(message.rows, rowToJson)}}}`
  );
}

function multiAnswerText(
  message: TextOf<'subscribeMultiApplied' | 'unsubscribeMultiApplied'>,
  rowToJson: RowToJson,
): string {
  return (
    `{"request_id":${message.requestId},` +
    `"total_host_execution_duration_micros":${message.durationMicros},` +
    `"query_id":{"id":${message.queryId}},"update":${tablesText(message.tables, rowToJson)}}`
  );
}

function subscriptionErrorText(message: SubscriptionError): string {
  return (
    '{"SubscriptionError":{' +
    `"total_host_execution_duration_micros":${message.durationMicros},` +
    `"request_id":${optionText(message.requestId)},"query_id":${optionText(message.queryId)},` +
    `"table_id":${optionText(message.tableId)},"error":${JSON.stringify(message.error)}}}`
  );
}

function procedureResultText(message: ProcedureResult<string>): string {
  return (
    `{"ProcedureResult":{"status":${procedureStatusText(message.status)},` +
    `${timestampText(message.timestamp)},${durationText(message.durationMicros)},` +
    `"request_id":${message.requestId}}}`
  );
}

function procedureStatusText(status: ProcedureResult<string>['status']): string {
  switch (status.kind) {
    case 'returned':
      return `{"Returned":${JSON.stringify(status.value)}}`;
    case 'outOfEnergy':
      return '{"OutOfEnergy":[]}';
    case 'internalError':
      return `{"InternalError":${JSON.stringify(status.message)}}`;
    default:
      return unreachable(status);
  }
}

function tablesText(tables: readonly TextTable[], rowToJson: RowToJson): string {
  return `{"tables":[${tables.map((table) => tableText(table, rowToJson)).join(',')}]}`;
}

function tableText({ tableId, table, rowCount, updates }: TextTable, rowToJson: RowToJson): string {
  const texts = updates.map((update) =>
    update.kind === 'text' ? update.text : queryUpdateText(table, update, rowToJson),
  );
  return (
    `{"table_id":${tableId},"table_name":${JSON.stringify(table)},"num_rows":${rowCount},` +
    `"updates":[${texts.join(',')}]}`
  );
}

function rowsText(table: string, rows: RowList, rowToJson: RowToJson): string {
  const texts = Array.from(rowsOf(rows), (row) => JSON.stringify(rowToJson(table, row)));
  return `[${texts.join(',')}]`;
}

function identityText(identity: bigint): string {
  return `{"__identity__":"0x${identity.toString(16)}"}`;
}

function connectionIdText(connectionId: bigint): string {
  return `{"__connection_id__":${connectionId}}`;
}

function timestampText(micros: bigint): string {
  return `"timestamp":{"__timestamp_micros_since_unix_epoch__":${micros}}`;
}

function durationText(micros: bigint): string {
  return `"total_host_execution_duration":{"__time_duration_micros__":${micros}}`;
}

function optionText(json: string | number | undefined): string {
  return json === undefined ? '{"none":[]}' : `{"some":${json}}`;
}
