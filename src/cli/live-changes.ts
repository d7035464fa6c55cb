import { on, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
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
import { encodedToJson, type JsonShape, parseJson } from '../values/json.ts';
import { emptyTypespace, type ProductType, type Typespace } from '../values/type.ts';
import { typeFromJson } from '../values/type-codec.ts';
import { type Api, databasePath, hintLines, noAnswer } from './api.ts';
import { CliError } from './io.ts';
import { type ChangedRows, KnownRows } from './known-rows.ts';

/** What one transaction changed in the rows of all queries, or their first rows. */
export interface LiveChanges {
  readonly isFirst: boolean;
  readonly tables: readonly ChangedRows[];
}

export interface LiveQueries {
  readonly database: string;
  readonly definition: ModuleDefinition;
  readonly queries: readonly string[];
  readonly shape: JsonShape;
  /** Whether changes are shown only once they are durable; absent: as the server does it. */
  readonly confirmed: string | undefined;
  readonly signal: AbortSignal;
  /** Says what becomes of the connection. */
  readonly tell: (line: string) => void;
}

const compressionNone = 0;
/** Messages that are read ahead of what was shown; the connection then waits. */
const [readAheadMax, readAheadMin] = [64, 16];

/** How long a command tries to connect again, and how often. */
const reconnectMillisMax = 60_000;
const reconnectPauseMillis = 500;

/**
 * The rows that queries give, and then their changes, until the server closes the connection. One
 * that breaks, because its service restarts or another host of a cluster takes the database over,
 * is made again, and what has changed meanwhile comes as one change. Throws `CliError` for queries
 * that the server refuses and where it cannot connect again, and the reason of `signal`.
 */
export async function* liveChanges(api: Api, live: LiveQueries): AsyncGenerator<LiveChanges> {
  const named = namedRows(live);
  const known = new KnownRows();
  let isFirst = true;
  let socket = await connected(api, live);
  for (;;) {
    const isBroken = brokenEnd(socket);
    for await (const change of changesOf(socket, { api, live, named })) {
      const isAgain = change.isFirst && !isFirst;
      const shown = isAgain ? { ...change, tables: known.changesTo(change.tables) } : change;
      known.apply(shown.tables);
      isFirst = false;
      if (!isAgain) yield shown;
      else if (shown.tables.length > 0) yield { ...shown, isFirst: false };
    }
    if (!isBroken()) return;
    live.tell('the connection ended; connecting again');
    socket = await connectedAgain(api, live);
    live.tell('connected again');
  }
}

/** Whether a connection that is over has ended because its other end restarts, or is gone. */
function brokenEnd(socket: WebSocket): () => boolean {
  let code = 0;
  socket.once('close', (closedWith) => {
    code = closedWith;
  });
  return () => code === 1006 || code === 1012;
}

async function* changesOf(
  socket: WebSocket,
  {
    api,
    live,
    named,
  }: { readonly api: Api; readonly live: LiveQueries; readonly named: RowsByName },
): AsyncGenerator<LiveChanges> {
  try {
    const { queries, signal } = live;
    const options = { signal, close: ['close'], highWaterMark: readAheadMax };
    const messages = on(socket, 'message', { ...options, lowWaterMark: readAheadMin });
    socket.send(encodeClientMessage({ kind: 'subscribe', requestId: 1, querySetId: 1, queries }));
    for await (const [frame] of messages) {
      const message = messageIn(frame as Buffer);
      if (message.kind === 'subscriptionError') throw await refused(api, live, message.error);
      const changes = changesIn(message, named);
      if (changes !== undefined) yield changes;
    }
  } finally {
    socket.terminate();
  }
}

/** Tries again while the service does not answer, or says that it cannot serve yet. */
async function connectedAgain(api: Api, live: LiveQueries): Promise<WebSocket> {
  const { signal } = live;
  const until = performance.now() + reconnectMillisMax;
  for (;;) {
    try {
      return await connected(api, live);
    } catch (error) {
      if (!(error instanceof NotServedError) || performance.now() > until) throw error;
    }
    await sleep(reconnectPauseMillis, undefined, { signal }).catch(() => {
      throw signal.reason;
    });
  }
}

/** The service is not there, or does not serve now; it may later. */
class NotServedError extends CliError {}

async function connected(
  api: Api,
  { database, confirmed, signal }: LiveQueries,
): Promise<WebSocket> {
  // Loaded on demand: other commands do without it.
  const { WebSocket: Socket } = await import('ws');
  const query = confirmed === undefined ? '' : `&confirmed=${confirmed}`;
  const path = databasePath(database, `/subscribe?compression=None&dialect=full${query}`);
  const socket = new Socket(`${api.server.url.replace(/^http/, 'ws')}${path}`, subprotocol, {
    ...(api.token !== undefined && { headers: { authorization: `Bearer ${api.token}` } }),
    maxPayload: limits.rowsAnswerBytesMax,
    perMessageDeflate: false,
  });
  const refused = once(socket, 'unexpected-response').then(
    async ([, answer]) => {
      const response = answer as IncomingMessage;
      const failure = await api.failure(response);
      const isPassing = (response.statusCode ?? 0) >= 500;
      throw isPassing ? new NotServedError(failure.message, 1, { cause: failure }) : failure;
    },
    // What `opened` says of it is shown.
    () => new Promise<never>(() => undefined),
  );
  const opened = once(socket, 'open', { signal }).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    const failure = noAnswer(api.server, cause);
    throw new NotServedError(failure.message, failure.exitCode, { cause });
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
  const hint = await subscriptionHint(api, live);
  return new CliError([text, ...hintLines(hint)].join('\n'));
}

/** How the rows that one name of a message stands for are printed. */
interface NamedRows {
  readonly name: string;
  readonly toJson: (rows: RowList) => string[];
}

type RowsByName = (table: string) => NamedRows;

function changesIn(message: ServerMessage, named: RowsByName): LiveChanges | undefined {
  switch (message.kind) {
    case 'subscribeApplied':
      return { isFirst: true, tables: firstRows(message.tables, named) };
    case 'transactionUpdate': {
      const updates = message.querySets.flatMap(({ tables }) => tables);
      return { isFirst: false, tables: updates.map((update) => changedRows(update, named)) };
    }
    default:
      return undefined;
  }
}

/** Of all queries; two of them may be of the same table. */
function firstRows(tables: readonly TableRows[], named: RowsByName): ChangedRows[] {
  return [...new Set(tables.map(({ table }) => table))].map((table) => {
    const { name, toJson } = named(table);
    const lists = tables.filter((one) => one.table === table);
    return { table: name, deletes: [], inserts: lists.flatMap(({ rows }) => toJson(rows)) };
  });
}

function changedRows({ table, changes }: TableUpdate, named: RowsByName): ChangedRows {
  const { name, toJson } = named(table);
  const inserts: string[] = [];
  const deletes: string[] = [];
  for (const change of changes) {
    if (change.kind === 'event') inserts.push(...toJson(change.events));
    else {
      inserts.push(...toJson(change.inserts));
      deletes.push(...toJson(change.deletes));
    }
  }
  const isEvent = changes.some(({ kind }) => kind === 'event');
  return { table: name, deletes, inserts, ...(isEvent && { isEvent }) };
}

/** Knows the rows of tables and views by the schema, and all others by what they say themselves. */
function namedRows({ definition, shape }: LiveQueries): RowsByName {
  const { tables, views, typespace } = flatDefinition(definition);
  const known = new Map<string, NamedRows>();
  const add = (key: string, name: string, type: ProductType, types: Typespace): NamedRows => {
    const toJson = (rows: RowList) =>
      Array.from(rowsOf(rows), (row) => encodedToJson(type, new BinaryReader(row), shape, types));
    const rows = { name, toJson };
    known.set(key, rows);
    return rows;
  };
  for (const { name, columns } of [...views, ...tables]) {
    add(name, name, { kind: 'product', elements: columns }, typespace);
  }
  return (table) => {
    const rows = known.get(table);
    if (rows !== undefined) return rows;
    const type = table.startsWith('{')
      ? typeFromJson(parseJson(`{"Product":${table}}`))
      : undefined;
    if (type?.kind !== 'product') {
      throw new CliError(`the schema of the database has no \`${table}\``);
    }
    const columns = type.elements.map(({ name }, at) => name ?? `column_${at + 1}`);
    return add(table, `(${columns.join(', ')})`, type, emptyTypespace);
  };
}
