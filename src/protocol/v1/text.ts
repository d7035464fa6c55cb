/**
 * Protocol v1 messages to clients as JSON, one object in each text frame: `{"Variant":{fields}}`.
 * Rows, arguments and returned values are strings that themselves contain JSON.
 */
import { unreachable } from '../../assert.ts';
import { toHex } from '../../values/hex.ts';
import type { RowList } from '../row-list.ts';
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
export type TextServerMessage = ServerMessage<QueryUpdate | UpdateText, ValueText>;

/** JSON that goes into a text as a string, or what stands there for such a string that is long. */
export type ValueText = string | LongValue;

/** Written later: `pieces` yields the string with its quotes, or the status of a procedure. */
export interface LongValue {
  readonly byteCount: number;
  readonly pieces: Iterable<string>;
}

/** Rows as JSON that was written once for all receivers of the message. */
export interface UpdateText {
  readonly kind: 'text';
  readonly text: string;
}

/** The rows of a message as JSON: those of a table, and what was written for others, too. */
export interface RowTexts {
  list(table: string, rows: RowList): string;
  written(update: UpdateText): string;
  long(value: LongValue): string;
}

/** Stands in a text for rows that are written later: no JSON has this character. */
export const laterRows = '\0';

/** Returns the text frame of a message. */
export function serverMessageToText(message: TextServerMessage, texts: RowTexts): string {
  switch (message.kind) {
    case 'initialSubscription':
      return (
        `{"InitialSubscription":{"database_update":${tablesText(message.tables, texts)},` +
        `"request_id":${message.requestId},${durationText(message.durationMicros)}}}`
      );
    case 'transactionUpdate':
      return transactionUpdateText(message, texts);
    case 'transactionUpdateLight':
      return (
        `{"TransactionUpdateLight":{"request_id":${message.requestId},` +
        `"update":${tablesText(message.tables, texts)}}}`
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
          `{"table_name":${JSON.stringify(table)},"rows":${texts.list(table, rows)}}`,
      );
      const error = message.error === undefined ? undefined : JSON.stringify(message.error);
      return (
        `{"OneOffQueryResponse":{"message_id":"${toHex(message.messageId)}",` +
        `"error":${optionText(error)},"tables":[${tables.join(',')}],` +
        `${durationText(message.durationMicros)}}}`
      );
    }
    case 'subscribeApplied':
      return `{"SubscribeApplied":${singleAnswerText(message, texts)}}`;
    case 'unsubscribeApplied':
      return `{"UnsubscribeApplied":${singleAnswerText(message, texts)}}`;
    case 'subscriptionError':
      return subscriptionErrorText(message);
    case 'subscribeMultiApplied':
      return `{"SubscribeMultiApplied":${multiAnswerText(message, texts)}}`;
    case 'unsubscribeMultiApplied':
      return `{"UnsubscribeMultiApplied":${multiAnswerText(message, texts)}}`;
    case 'procedureResult':
      return procedureResultText(message, texts);
    default:
      return unreachable(message);
  }
}

/** Writes the changed rows of one query of `table` as JSON, once for all subscribers. */
export function queryUpdateText(table: string, update: QueryUpdate, texts: RowTexts): string {
  const deletes = texts.list(table, update.deletes);
  return `{"deletes":${deletes},"inserts":${texts.list(table, update.inserts)}}`;
}

type TextTable = TableUpdate<QueryUpdate | UpdateText>;
type TextOf<Kind extends TextServerMessage['kind']> = Extract<TextServerMessage, { kind: Kind }>;

function transactionUpdateText(
  message: TransactionUpdate<QueryUpdate | UpdateText, ValueText>,
  texts: RowTexts,
): string {
  const { call } = message;
  return (
    `{"TransactionUpdate":{"status":${statusText(message.status, texts)},` +
    `${timestampText(message.timestamp)},` +
    `"caller_identity":${identityText(message.callerIdentity)},` +
    `"caller_connection_id":${connectionIdText(message.callerConnectionId)},` +
    `"reducer_call":{"reducer_name":${JSON.stringify(call.reducer)},` +
    `"reducer_id":${call.reducerId},"args":${argumentsText(call.args, texts)},` +
    `"request_id":${call.requestId}},"energy_quanta_used":{"quanta":${message.energyUsed}},` +
    `${durationText(message.durationMicros)}}}`
  );
}

function statusText(status: UpdateStatus<QueryUpdate | UpdateText>, texts: RowTexts): string {
  switch (status.kind) {
    case 'committed':
      return `{"Committed":${tablesText(status.tables, texts)}}`;
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
  texts: RowTexts,
): string {
  const { tableId, table } = message.rows;
  return (
    `{"request_id":${message.requestId},` +
    `"total_host_execution_duration_micros":${message.durationMicros},` +
    `"query_id":{"id":${message.queryId}},"rows":{"table_id":${tableId},` +
    `"table_name":${JSON.stringify(table)},"table_rows":${tableText(message.rows, texts)}}}`
  );
}

function multiAnswerText(
  message: TextOf<'subscribeMultiApplied' | 'unsubscribeMultiApplied'>,
  texts: RowTexts,
): string {
  return (
    `{"request_id":${message.requestId},` +
    `"total_host_execution_duration_micros":${message.durationMicros},` +
    `"query_id":{"id":${message.queryId}},"update":${tablesText(message.tables, texts)}}`
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

function procedureResultText(message: ProcedureResult<ValueText>, texts: RowTexts): string {
  return (
    `{"ProcedureResult":{"status":${procedureStatusText(message.status, texts)},` +
    `${timestampText(message.timestamp)},${durationText(message.durationMicros)},` +
    `"request_id":${message.requestId}}}`
  );
}

function argumentsText(args: ValueText, texts: RowTexts): string {
  return typeof args === 'string' ? JSON.stringify(args) : texts.long(args);
}

export function procedureStatusText(
  status: ProcedureResult<ValueText>['status'],
  texts: Pick<RowTexts, 'long'>,
): string {
  switch (status.kind) {
    case 'returned':
      if (typeof status.value !== 'string') return texts.long(status.value);
      return `{"Returned":${JSON.stringify(status.value)}}`;
    case 'outOfEnergy':
      return '{"OutOfEnergy":[]}';
    case 'internalError':
      return `{"InternalError":${JSON.stringify(status.message)}}`;
    default:
      return unreachable(status);
  }
}

function tablesText(tables: readonly TextTable[], texts: RowTexts): string {
  return `{"tables":[${tables.map((table) => tableText(table, texts)).join(',')}]}`;
}

function tableText({ tableId, table, rowCount, updates }: TextTable, texts: RowTexts): string {
  const written = updates.map((update) =>
    update.kind === 'text' ? texts.written(update) : queryUpdateText(table, update, texts),
  );
  return (
    `{"table_id":${tableId},"table_name":${JSON.stringify(table)},"num_rows":${rowCount},` +
    `"updates":[${written.join(',')}]}`
  );
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
