import type { ClientMessage } from '../../src/protocol/v2/client-message.ts';
import type {
  QuerySetUpdate,
  ReducerOutcome,
  ServerMessage,
  TableRows,
  TableUpdateRows,
} from '../../src/protocol/v2/server-message.ts';
import {
  type Readable,
  readableBytes,
  readableOption,
  readableRows,
  readableSum,
} from './recorded-messages.ts';

/** A message of protocol v2 as the recordings write it. */
export function readableV2(message: ClientMessage | ServerMessage): Readable {
  switch (message.kind) {
    case 'subscribe':
      return { ...ids(message), query_strings: message.queries };
    case 'unsubscribe': {
      const flags = message.sendDroppedRows
        ? readableSum(1, 'SendDroppedRows', {})
        : readableSum(0, 'Default', {});
      return { ...ids(message), flags };
    }
    case 'oneOffQuery':
      return { request_id: `${message.requestId}`, query_string: message.query };
    case 'callReducer':
      return { ...call(message), reducer: message.reducer };
    case 'callProcedure':
      return { ...call(message), procedure: message.procedure };
    case 'initialConnection':
      return {
        identity: { __identity__: `${message.identity}` },
        connection_id: { __connection_id__: `${message.connectionId}` },
        token: message.token,
      };
    case 'subscribeApplied':
      return { ...ids(message), rows: queryRows(message.tables) };
    case 'unsubscribeApplied': {
      const rows = message.tables === undefined ? undefined : queryRows(message.tables);
      return { ...ids(message), rows: readableOption(rows) };
    }
    case 'subscriptionError': {
      const requestId = message.requestId === undefined ? undefined : `${message.requestId}`;
      return {
        request_id: readableOption(requestId),
        query_set_id: { id: `${message.querySetId}` },
        error: message.error,
      };
    }
    case 'transactionUpdate':
      return { query_sets: message.querySets.map(querySet) };
    case 'oneOffQueryResult': {
      const { result } = message;
      return {
        request_id: `${message.requestId}`,
        result:
          result.kind === 'ok'
            ? readableSum(0, 'ok', queryRows(result.tables))
            : readableSum(1, 'err', result.error),
      };
    }
    case 'reducerResult':
      return {
        request_id: `${message.requestId}`,
        timestamp: timestamp(message.timestamp),
        result: outcome(message.outcome),
      };
    case 'procedureResult':
      return {
        status:
          message.status.kind === 'returned'
            ? readableSum(0, 'Returned', readableBytes(message.status.value))
            : readableSum(1, 'InternalError', message.status.message),
        timestamp: timestamp(message.timestamp),
        total_host_execution_duration: { __time_duration_micros__: `${message.durationMicros}` },
        request_id: `${message.requestId}`,
      };
  }
}

function ids(message: { requestId: number; querySetId: number }) {
  return {
    request_id: `${message.requestId}`,
    query_set_id: { id: `${message.querySetId}` },
  };
}

function call(message: { requestId: number; args: Uint8Array }) {
  return { request_id: `${message.requestId}`, flags: '0', args: readableBytes(message.args) };
}

function timestamp(micros: bigint): Readable {
  return { __timestamp_micros_since_unix_epoch__: `${micros}` };
}

function queryRows(tables: readonly TableRows[]): Readable {
  return { tables: tables.map(({ table, rows }) => ({ table, rows: readableRows(rows) })) };
}

function querySet({ querySetId, tables }: QuerySetUpdate): Readable {
  return {
    query_set_id: { id: `${querySetId}` },
    tables: tables.map(({ table, changes }) => ({
      table_name: table,
      rows: changes.map(tableUpdateRows),
    })),
  };
}

function tableUpdateRows(changes: TableUpdateRows): Readable {
  if (changes.kind === 'event') {
    return readableSum(1, 'EventTable', { events: readableRows(changes.events) });
  }
  return readableSum(0, 'PersistentTable', {
    inserts: readableRows(changes.inserts),
    deletes: readableRows(changes.deletes),
  });
}

function outcome(result: ReducerOutcome): Readable {
  switch (result.kind) {
    case 'ok':
      return readableSum(0, 'Ok', {
        ret_value: readableBytes(result.returned),
        transaction_update: { query_sets: result.querySets.map(querySet) },
      });
    case 'okEmpty':
      return readableSum(1, 'OkEmpty', {});
    case 'err':
      return readableSum(2, 'Err', readableBytes(result.error));
    case 'internalError':
      return readableSum(3, 'InternalError', result.message);
  }
}
