import type { ClientMessage } from '../../src/protocol/v1/client-message.ts';
import type {
  ProcedureResult,
  ReceivedUpdate,
  ServerMessage,
  TableUpdate,
  UpdateStatus,
} from '../../src/protocol/v1/server-message.ts';
import {
  type Readable,
  readableBytes,
  readableOption,
  readableRows,
  readableSum,
} from './recorded-messages.ts';

/** A message of a client of protocol v1 as the recordings write it. */
export function readableV1Client(message: ClientMessage): Readable {
  switch (message.kind) {
    case 'callReducer':
      return {
        reducer: message.reducer,
        args: readableBytes(message.args),
        request_id: `${message.requestId}`,
        flags: message.notifySuccess ? '0' : '1',
      };
    case 'subscribe':
      return { query_strings: message.queries, request_id: `${message.requestId}` };
    case 'oneOffQuery':
      return { message_id: readableBytes(message.messageId), query_string: message.query };
    case 'subscribeSingle':
      return { query: message.query, ...ids(message) };
    case 'subscribeMulti':
      return { query_strings: message.queries, ...ids(message) };
    case 'unsubscribe':
    case 'unsubscribeMulti':
      return ids(message);
    case 'callProcedure':
      return {
        procedure: message.procedure,
        args: readableBytes(message.args),
        request_id: `${message.requestId}`,
        flags: '0',
      };
  }
}

/** A message of a server of protocol v1 as the recordings write it. */
export function readableV1Server(message: ServerMessage): Readable {
  switch (message.kind) {
    case 'initialSubscription':
      return {
        database_update: databaseUpdate(message.tables),
        request_id: `${message.requestId}`,
        ...duration(message),
      };
    case 'transactionUpdate':
      return {
        status: updateStatus(message.status),
        timestamp: timestamp(message.timestamp),
        caller_identity: { __identity__: `${message.callerIdentity}` },
        caller_connection_id: { __connection_id__: `${message.callerConnectionId}` },
        reducer_call: {
          reducer_name: message.call.reducer,
          reducer_id: `${message.call.reducerId}`,
          args: readableBytes(message.call.args),
          request_id: `${message.call.requestId}`,
        },
        energy_quanta_used: { quanta: `${message.energyUsed}` },
        ...duration(message),
      };
    case 'transactionUpdateLight':
      return { request_id: `${message.requestId}`, update: databaseUpdate(message.tables) };
    case 'identityToken':
      return {
        identity: { __identity__: `${message.identity}` },
        token: message.token,
        connection_id: { __connection_id__: `${message.connectionId}` },
      };
    case 'oneOffQueryResponse':
      return {
        message_id: readableBytes(message.messageId),
        error: readableOption(message.error),
        tables: message.tables.map(({ table, rows }) => ({
          table_name: table,
          rows: readableRows(rows),
        })),
        ...duration(message),
      };
    case 'subscribeApplied':
    case 'unsubscribeApplied': {
      const { tableId, table } = message.rows;
      const rows = { table_id: `${tableId}`, table_name: table };
      return { ...answer(message), rows: { ...rows, table_rows: tableUpdate(message.rows) } };
    }
    case 'subscriptionError':
      return {
        total_host_execution_duration_micros: `${message.durationMicros}`,
        request_id: optionalId(message.requestId),
        query_id: optionalId(message.queryId),
        table_id: optionalId(message.tableId),
        error: message.error,
      };
    case 'subscribeMultiApplied':
    case 'unsubscribeMultiApplied':
      return { ...answer(message), update: databaseUpdate(message.tables) };
    case 'procedureResult':
      return {
        status: procedureStatus(message.status),
        timestamp: timestamp(message.timestamp),
        ...duration(message),
        request_id: `${message.requestId}`,
      };
  }
}

function ids(message: { requestId: number; queryId: number }) {
  return { request_id: `${message.requestId}`, query_id: { id: `${message.queryId}` } };
}

function answer(message: { requestId: number; queryId: number; durationMicros: bigint }) {
  return { ...ids(message), total_host_execution_duration_micros: `${message.durationMicros}` };
}

function duration(message: { durationMicros: bigint }) {
  const micros = `${message.durationMicros}`;
  return { total_host_execution_duration: { __time_duration_micros__: micros } };
}

function timestamp(micros: bigint): Readable {
  return { __timestamp_micros_since_unix_epoch__: `${micros}` };
}

function optionalId(id: number | undefined): Readable {
  return readableOption(id === undefined ? undefined : `${id}`);
}

function updateStatus(status: UpdateStatus): Readable {
  switch (status.kind) {
    case 'committed':
      return readableSum(0, 'Committed', databaseUpdate(status.tables));
    case 'failed':
      return readableSum(1, 'Failed', status.message);
    case 'outOfEnergy':
      return readableSum(2, 'OutOfEnergy', {});
  }
}

function procedureStatus(status: ProcedureResult['status']): Readable {
  switch (status.kind) {
    case 'returned':
      return readableSum(0, 'Returned', readableBytes(status.value));
    case 'outOfEnergy':
      return readableSum(1, 'OutOfEnergy', {});
    case 'internalError':
      return readableSum(2, 'InternalError', status.message);
  }
}

function databaseUpdate(tables: readonly TableUpdate[]): Readable {
  return { tables: tables.map(tableUpdate) };
}

function tableUpdate(update: TableUpdate): Readable {
  return {
    table_id: `${update.tableId}`,
    table_name: update.table,
    num_rows: `${update.rowCount}`,
    updates: update.updates.map(queryUpdate),
  };
}

function queryUpdate(update: ReceivedUpdate): Readable {
  if (update.kind === 'compressed') {
    const isBrotli = update.compression === 'brotli';
    const bytes = readableBytes(update.bytes);
    return isBrotli ? readableSum(1, 'Brotli', bytes) : readableSum(2, 'Gzip', bytes);
  }
  return readableSum(0, 'Uncompressed', {
    deletes: readableRows(update.deletes),
    inserts: readableRows(update.inserts),
  });
}
