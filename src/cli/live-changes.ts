import { on, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { limits } from '../limits.ts';
import { type RowList, rowsOf } from '../protocol/row-list.ts';
import { encodeClientMessage } from '../protocol/v2/client-message.ts';
import {
  decodeServerMessage,
  type ServerMessage,
  type TableRows,
  type TableUpdate,
} from '../protocol/v2/server-message.ts';
import type { Subprotocol } from '../protocol/versions.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { encodedToJson, type JsonShape } from '../values/json.ts';
import type { ProductType } from '../values/type.ts';
import { type Api, databasePath, hintLines, noAnswer } from './api.ts';
import { CliError } from './io.ts';

/** What one transaction changed in the rows of all queries, or their first rows. */
export interface LiveChanges {
  readonly isFirst: boolean;
  readonly tables: readonly ChangedRows[];
}

/** Rows as JSON objects by column name, in the shape that was asked for. */
export interface ChangedRows {
  readonly table: string;
  readonly deletes: readonly string[];
  readonly inserts: readonly string[];
}

export interface LiveQueries {
  readonly database: string;
  readonly definition: ModuleDefinition;
  readonly queries: readonly string[];
  readonly shape: JsonShape;
  /** Whether changes are shown only once they are durable; absent: as the server does it. */
  readonly confirmed: string | undefined;
  readonly signal: AbortSignal;
}

const compressionNone = 0;
/** Messages that are read ahead of what was shown; the connection then waits. */
const [readAheadMax, readAheadMin] = [64, 16];

/**
 * The rows that queries give, and then their changes, until the server closes the connection.
 * Throws `CliError` for queries that the server refuses, and the reason of `signal`.
 */
export async function* liveChanges(api: Api, live: LiveQueries): AsyncGenerator<LiveChanges> {
  const rowsAsJson = printerOf(live);
  const socket = await connected(api, live);
  try {
    const { queries, signal } = live;
    const options = { signal, close: ['close'], highWaterMark: readAheadMax };
    const messages = on(socket, 'message', { ...options, lowWaterMark: readAheadMin });
    socket.send(encodeClientMessage({ kind: 'subscribe', requestId: 1, querySetId: 1, queries }));
    for await (const [frame] of messages) {
      const message = messageIn(frame as Buffer);
      if (message.kind === 'subscriptionError') throw await refused(api, live, message.error);
      const changes = changesIn(message, rowsAsJson);
      if (changes !== undefined) yield changes;
    }
  } finally {
    socket.terminate();
  }
}

async function connected(
  api: Api,
  { database, confirmed, signal }: LiveQueries,
): Promise<WebSocket> {
  // Loaded on demand: other commands do without it.
  const { WebSocket: Socket } = await import('ws');
  const query = confirmed === undefined ? '' : `&confirmed=${confirmed}`;
  const path = databasePath(database, `/subscribe?compression=None${query}`);
  const socket = new Socket(`${api.server.url.replace(/^http/, 'ws')}${path}`, subprotocol, {
    ...(api.token !== undefined && { headers: { authorization: `Bearer ${api.token}` } }),
    maxPayload: limits.rowsAnswerBytesMax,
    perMessageDeflate: false,
  });
  const refused = once(socket, 'unexpected-response').then(
    async ([, answer]) => {
      throw await api.failure(answer as IncomingMessage);
    },
    // What `opened` says of it is shown.
    () => new Promise<never>(() => undefined),
  );
  const opened = once(socket, 'open', { signal }).catch((cause: unknown) => {
    throw signal.aborted ? cause : noAnswer(api.server, cause);
  });
  try {
    await Promise.race([opened, refused]);
    return socket;
  } catch (error) {
    socket.on('error', () => undefined);
    socket.terminate();
    throw error;
  }
}

const subprotocol = 'v2.bsatn.spacetimedb' satisfies Subprotocol;

function messageIn(frame: Buffer): ServerMessage {
  if (frame[0] !== compressionNone) throw new CliError('the server compressed what it sent');
  try {
    return decodeServerMessage(frame.subarray(1));
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    throw new CliError(`the server sent what cannot be read: ${cause.message}`, 1, { cause });
  }
}

async function refused(api: Api, live: LiveQueries, text: string): Promise<CliError> {
  const { subscriptionHint } = await import('./subscription-hint.ts');
  const hint = await subscriptionHint(api, live, text);
  return new CliError([text, ...hintLines(hint)].join('\n'));
}

type RowsAsJson = (table: string, rows: RowList) => string[];

function changesIn(message: ServerMessage, rowsAsJson: RowsAsJson): LiveChanges | undefined {
  switch (message.kind) {
    case 'subscribeApplied':
      return { isFirst: true, tables: firstRows(message.tables, rowsAsJson) };
    case 'transactionUpdate': {
      const updates = message.querySets.flatMap(({ tables }) => tables);
      return { isFirst: false, tables: updates.map((update) => changedRows(update, rowsAsJson)) };
    }
    default:
      return undefined;
  }
}

/** Of all queries; two of them may be of the same table. */
function firstRows(tables: readonly TableRows[], rowsAsJson: RowsAsJson): ChangedRows[] {
  const names = [...new Set(tables.map(({ table }) => table))];
  return names.map((table) => {
    const lists = tables.filter((one) => one.table === table);
    return { table, deletes: [], inserts: lists.flatMap(({ rows }) => rowsAsJson(table, rows)) };
  });
}

function changedRows({ table, changes }: TableUpdate, rowsAsJson: RowsAsJson): ChangedRows {
  const inserts: string[] = [];
  const deletes: string[] = [];
  for (const change of changes) {
    if (change.kind === 'event') inserts.push(...rowsAsJson(table, change.events));
    else {
      inserts.push(...rowsAsJson(table, change.inserts));
      deletes.push(...rowsAsJson(table, change.deletes));
    }
  }
  return { table, deletes, inserts };
}

function printerOf({ definition, shape }: LiveQueries): RowsAsJson {
  const { tables, views, typespace } = flatDefinition(definition);
  const types = new Map<string, ProductType>();
  for (const { name, columns } of [...views, ...tables]) {
    types.set(name, { kind: 'product', elements: columns });
  }
  return (table, rows) => {
    const type = types.get(table);
    if (type === undefined) throw new CliError(`the schema of the database has no \`${table}\``);
    return Array.from(rowsOf(rows), (row) =>
      encodedToJson(type, new BinaryReader(row), shape, typespace),
    );
  };
}
