import { present, unreachable } from '../assert.ts';
import { querySetId, type SetId } from '../database/live/set-id.ts';
import type { CallError, CallOutcome } from '../database/outcome.ts';
import { callErrorText, procedureErrorText } from '../doors/call-error-text.ts';
import { inSlices } from '../doors/slices.ts';
import type {
  CalledEvent,
  LiveCall,
  LiveConnection,
  LiveEvent,
  LiveProcedure,
  LiveRequest,
  LiveSubscribe,
  LiveUnsubscribe,
  UpdatedEvent,
} from '../host/feeds/live-connection.ts';
import { limits } from '../limits.ts';
import { type ClientMessage, decodeClientMessage } from '../protocol/v1/client-message.ts';
import { clientMessageFromText, clientMessageSteps, utf8Text } from '../protocol/v1/client-text.ts';
import type { QueryUpdate, ServerMessage, TableUpdate } from '../protocol/v1/server-message.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { LateMessage } from './late-message.ts';
import {
  type DecodedRequest,
  type Encoded,
  type MessageCodec,
  noMessages,
  type Person,
} from './message-codec.ts';
import { argumentsFromText } from './v1-arguments.ts';
import { binaryFormat, textFormat, type V1Format } from './v1-format.ts';
import { tableOfRows, tablesOfRows, tablesOfUpdates } from './v1-rows.ts';
import { V1Sets } from './v1-sets.ts';

/** Creates the codec of version 1, binary or text, for the subprotocol that was negotiated. */
export function v1Codec(
  protocol: 'v1.bsatn.spacetimedb' | 'v1.json.spacetimedb',
  person: Person,
  live: Described,
): MessageCodec {
  if (protocol === 'v1.bsatn.spacetimedb') return new V1(person, live, binaryFormat);
  return new V1(
    person,
    live,
    textFormat(() => live.description),
  );
}

type Described = Pick<LiveConnection, 'description'>;
type Received = ClientMessage<Uint8Array | string>;
type CallMessage = Extract<Received, { kind: 'callReducer' }>;
type ProcedureMessage = Extract<Received, { kind: 'callProcedure' }>;

/**
 * Translates version 1: its messages to current requests, and their events back. The query ids of
 * subscriptions serve as set ids; subscriptions by the oldest message, which has no id, get set ids
 * above all others.
 */
class V1<Rows, Given> implements MessageCodec {
  readonly #person: Person;
  readonly #live: Described;
  readonly #format: V1Format<Rows, Given>;
  readonly #sets = new V1Sets();
  readonly #messages = new WeakMap<LiveRequest, Received>();
  /** Received before the database was known, which text arguments need; `undefined` afterwards. */
  #early: (Received | Promise<Received>)[] | undefined = [];
  #unnamedSet: SetId | undefined;
  #lastUnnamedSet = querySetId(2 ** 32);

  constructor(person: Person, live: Described, format: V1Format<Rows, Given>) {
    this.#person = person;
    this.#live = live;
    this.#format = format;
  }

  *decode(bytes: Uint8Array, isBinary: boolean): Generator<DecodedRequest, void, void> {
    const message = isBinary ? decodeClientMessage(bytes) : messageFromText(utf8Text(bytes));
    if (this.#early === undefined) {
      yield this.#requestOf(message);
      return;
    }
    // A failure is handled when its turn comes.
    if (message instanceof Promise) message.catch(() => {});
    this.#early.push(message);
  }

  get keptCount(): number {
    return this.#early?.length ?? 0;
  }

  encode(events: readonly LiveEvent[]): Encoded {
    const all = events.map((event) => this.#encode(event));
    return {
      messages: all.flatMap(({ messages }) => messages),
      requests: all.flatMap(({ requests }) => requests),
    };
  }

  #encode(event: LiveEvent): Encoded {
    switch (event.kind) {
      case 'connected':
        return this.#connected();
      case 'called':
        return this.#called(event);
      case 'updated':
        return this.#updated(event);
      case 'subscribed':
        return this.#subscribed(event);
      case 'unsubscribed':
        return this.#unsubscribed(event);
      case 'resumed':
        return noMessages;
      case 'oneOff': {
        const { outcome } = event;
        return this.#message({
          kind: 'oneOffQueryResponse',
          messageId: this.#messageIdOf(event.request),
          error: outcome.kind === 'failed' ? outcome.error : undefined,
          tables: outcome.kind === 'failed' ? [] : [outcome],
          durationMicros: BigInt(outcome.micros),
        });
      }
      case 'procedure':
        return this.#procedure(event);
      case 'refused':
        return this.#refused(event.request, event.body.message);
      case 'setFailed':
        return this.#failAll(event);
      default:
        return unreachable(event);
    }
  }

  #connected(): Encoded {
    const { messages } = this.#message({ kind: 'identityToken', ...this.#person });
    const early = this.#early ?? [];
    this.#early = undefined;
    return { messages, requests: early.map((message) => this.#requestOf(message)) };
  }

  #requestOf(message: Received | Promise<Received>): DecodedRequest {
    if (message instanceof Promise) return message.then((read) => this.#requestOf(read));
    const decoded = this.#translate(message);
    if (!(decoded instanceof Promise)) return this.#remember(decoded, message);
    return decoded.then((request) => this.#remember(request, message));
  }

  #remember(request: LiveRequest, message: Received): LiveRequest {
    this.#messages.set(request, message);
    return request;
  }

  #translate(message: Received): DecodedRequest {
    switch (message.kind) {
      case 'callReducer':
        return this.#callOf(message);
      case 'subscribe': {
        this.#lastUnnamedSet = querySetId(this.#lastUnnamedSet + 1);
        const { requestId, queries } = message;
        return subscribeOf(requestId, this.#lastUnnamedSet, queries);
      }
      case 'subscribeSingle':
        return subscribeOf(message.requestId, querySetId(message.queryId), [
          withoutStar(message.query),
        ]);
      case 'subscribeMulti':
        return subscribeOf(message.requestId, querySetId(message.queryId), message.queries);
      case 'unsubscribe':
      case 'unsubscribeMulti': {
        const { requestId, queryId } = message;
        return { kind: 'unsubscribe', requestId, setId: querySetId(queryId), withRows: true };
      }
      case 'oneOffQuery':
        return { kind: 'oneOff', requestId: 0, sql: message.query };
      case 'callProcedure':
        return this.#procedureOf(message);
      default:
        return unreachable(message);
    }
  }

  #callOf({ reducer, requestId, args, notifySuccess: isCaller }: CallMessage): DecodedRequest {
    const call = { kind: 'call', requestId, reducer, isCaller } as const;
    if (typeof args !== 'string') return { ...call, args, schemaVersion: undefined };
    const description = present(this.#live.description, 'what serves, once it serves');
    const { schemaVersion } = description;
    const encoded = argumentsFromText(description, 'reducer', reducer, args);
    if (!(encoded instanceof Promise)) return { ...call, args: encoded, schemaVersion };
    return encoded.then((args): LiveCall => ({ ...call, args, schemaVersion }));
  }

  #procedureOf({ procedure, requestId, args }: ProcedureMessage): DecodedRequest {
    const call = { kind: 'procedure', requestId, procedure } as const;
    if (typeof args !== 'string') return { ...call, args, schemaVersion: undefined };
    const description = present(this.#live.description, 'what serves, once it serves');
    const { schemaVersion } = description;
    const encoded = argumentsFromText(description, 'procedure', procedure, args);
    if (!(encoded instanceof Promise)) return { ...call, args: encoded, schemaVersion };
    return encoded.then((args): LiveProcedure => ({ ...call, args, schemaVersion }));
  }

  #procedure({ request, outcome }: Extract<LiveEvent, { kind: 'procedure' }>): Encoded {
    const { procedure, requestId } = request;
    if (outcome.kind === 'failed') {
      const { error } = outcome;
      if (error.code !== 'schema.changed') {
        return this.#failProcedure(requestId, procedureErrorText(error));
      }
      const message = this.#messageOf(request, 'callProcedure');
      return { messages: [], requests: [this.#requestOf(message)] };
    }
    const value = this.#format.returned(procedure, outcome.value);
    return this.#message({
      kind: 'procedureResult',
      status: { kind: 'returned', value },
      timestamp: outcome.timestampMicros,
      durationMicros: BigInt(outcome.micros),
      requestId,
    });
  }

  #called(event: CalledEvent): Encoded {
    const { request, outcome, sets } = event;
    const message = this.#messageOf(request, 'callReducer');
    const isOvertaken = outcome.kind === 'aborted' && outcome.error.code === 'schema.changed';
    if (isOvertaken) return { messages: [], requests: [this.#requestOf(message)] };
    if (!request.isCaller) return noMessages;
    if (outcome.kind === 'aborted' && !hasRun(outcome.error)) {
      return this.#rejected(message, callErrorText(outcome.error));
    }
    const tables = tablesOfUpdates(this.#sets.updatesOf(sets), this.#format.rowsOf);
    const bytes = request.args instanceof Uint8Array ? request.args : undefined;
    const json = typeof message.args === 'string' ? message.args : undefined;
    const { reducer, requestId } = request;
    return this.#message({
      kind: 'transactionUpdate',
      status: statusOf(outcome, tables),
      timestamp: event.timestampMicros,
      callerIdentity: this.#person.identity,
      callerConnectionId: this.#person.connectionId,
      call: {
        reducer,
        reducerId: this.#reducerId(reducer),
        args: this.#format.given({ reducer, bytes, json }),
        requestId,
      },
      energyUsed: 0n,
      durationMicros: BigInt(outcome.micros),
    });
  }

  /** Answers a call that was rejected before it ran. */
  #rejected({ reducer }: CallMessage, message: string): Encoded {
    const { identity, connectionId } = this.#person;
    return this.#message({
      kind: 'transactionUpdate',
      status: { kind: 'failed', message },
      timestamp: BigInt(Date.now()) * 1000n,
      callerIdentity: identity,
      callerConnectionId: connectionId,
      call: {
        reducer,
        reducerId: this.#reducerId(reducer),
        args: this.#format.nothingGiven,
        requestId: 0,
      },
      energyUsed: 0n,
      durationMicros: 0n,
    });
  }

  #updated(event: UpdatedEvent): Encoded {
    const { requestId, sets } = event;
    const updates = this.#sets.updatesOf(sets);
    if (updates.size === 0) return noMessages;
    // With one set, all connections that get the event are sent the same message.
    const known = sets.length === 1 ? this.#format.shared.get(event) : undefined;
    const isUsable = !(known instanceof LateMessage) || known.isUsable;
    if (known !== undefined && isUsable) return { messages: [known], requests: [] };
    const tables = tablesOfUpdates(updates, this.#format.rowsOf);
    const encoded = this.#message({ kind: 'transactionUpdateLight', requestId, tables });
    for (const message of encoded.messages) this.#format.shared.set(event, message);
    return encoded;
  }

  #subscribed({ request, outcome }: Extract<LiveEvent, { kind: 'subscribed' }>): Encoded {
    const message = this.#messages.get(request);
    if (outcome.kind === 'refused') {
      return this.#failSet(request, outcome.error, outcome.micros);
    }
    const { requestId, setId } = request;
    const durationMicros = BigInt(outcome.micros);
    const fresh = this.#sets.add(setId, outcome.queries);
    if (message?.kind === 'subscribe') {
      const tables = tablesOfRows(outcome.queries, 'inserts');
      const { messages } = this.#message({
        kind: 'initialSubscription',
        tables,
        requestId,
        durationMicros,
      });
      return { messages, requests: this.#replaceUnnamed(setId) };
    }
    const answer = { requestId, durationMicros, queryId: setId };
    if (message?.kind === 'subscribeSingle') {
      const rows = singleTable(outcome.queries, fresh, 'inserts');
      return this.#message({ kind: 'subscribeApplied', ...answer, rows });
    }
    const tables = tablesOfRows(fresh, 'inserts');
    return this.#message({ kind: 'subscribeMultiApplied', ...answer, tables });
  }

  /** Replaces the subscription made by the previous message of the oldest kind. */
  #replaceUnnamed(setId: SetId): LiveRequest[] {
    const before = this.#unnamedSet;
    this.#unnamedSet = setId;
    return before === undefined ? [] : [this.#forget(before)];
  }

  /** Ends a set silently: no more updates are sent, and its end is not reported. */
  #forget(setId: SetId): LiveUnsubscribe {
    this.#sets.remove(setId);
    return { kind: 'unsubscribe', requestId: 0, setId, withRows: false };
  }

  #unsubscribed({ request, outcome }: Extract<LiveEvent, { kind: 'unsubscribed' }>): Encoded {
    const message = this.#messages.get(request);
    if (message === undefined) return noMessages;
    const { requestId, setId } = request;
    const freed = this.#sets.remove(setId);
    if (outcome.kind === 'refused') {
      return this.#failSet(request, outcome.error, outcome.micros);
    }
    const queries = outcome.queries ?? [];
    const dropped = queries.filter(({ query }) => freed.has(query));
    const answer = { requestId, durationMicros: BigInt(outcome.micros), queryId: setId };
    if (message.kind === 'unsubscribe') {
      const rows = singleTable(queries, dropped, 'deletes');
      return this.#message({ kind: 'unsubscribeApplied', ...answer, rows });
    }
    const tables = tablesOfRows(dropped, 'deletes');
    return this.#message({ kind: 'unsubscribeMultiApplied', ...answer, tables });
  }

  #failSet(request: LiveSubscribe | LiveUnsubscribe, reason: string, micros: number): Encoded {
    const message = this.#messages.get(request);
    const isNamed = message?.kind !== 'subscribe';
    const error = message?.kind === 'subscribeSingle' ? executing(reason, message.query) : reason;
    return this.#message({
      kind: 'subscriptionError',
      durationMicros: BigInt(micros),
      requestId: request.requestId,
      queryId: isNamed ? request.setId : undefined,
      tableId: undefined,
      error,
    });
  }

  /**
   * Ends all subscriptions, because an error without ids makes the client drop them all. Further
   * sets that failed with the same commit are not reported.
   */
  #failAll({ setId, error }: Extract<LiveEvent, { kind: 'setFailed' }>): Encoded {
    if (!this.#sets.has(setId)) return noMessages;
    const requests = this.#sets.ids.map((setId) => this.#forget(setId));
    this.#sets.clear();
    this.#unnamedSet = undefined;
    const { messages } = this.#message({
      kind: 'subscriptionError',
      durationMicros: 0n,
      requestId: undefined,
      queryId: undefined,
      tableId: undefined,
      error,
    });
    return { messages, requests };
  }

  #refused(request: LiveRequest, error: string): Encoded {
    switch (request.kind) {
      case 'call':
        if (!request.isCaller) return noMessages;
        return this.#rejected(this.#messageOf(request, 'callReducer'), error);
      case 'subscribe':
        return this.#failSet(request, error, 0);
      case 'unsubscribe':
        return this.#messages.has(request) ? this.#failSet(request, error, 0) : noMessages;
      case 'oneOff': {
        const messageId = this.#messageIdOf(request);
        const answer = { messageId, error, tables: [], durationMicros: 0n };
        return this.#message({ kind: 'oneOffQueryResponse', ...answer });
      }
      case 'procedure':
        return this.#failProcedure(request.requestId, error);
      case 'resume':
        return noMessages;
      default:
        return unreachable(request);
    }
  }

  #failProcedure(requestId: number, message: string): Encoded {
    return this.#message({
      kind: 'procedureResult',
      status: { kind: 'internalError', message },
      timestamp: 0n,
      durationMicros: 0n,
      requestId,
    });
  }

  #message(message: ServerMessage<Rows | QueryUpdate, Given>): Encoded {
    return { messages: [this.#format.write(message)], requests: [] };
  }

  #messageIdOf(request: LiveRequest): Uint8Array {
    return this.#messageOf(request, 'oneOffQuery').messageId;
  }

  #messageOf<Kind extends Received['kind']>(
    request: LiveRequest,
    kind: Kind,
  ): Extract<Received, { kind: Kind }> {
    const message = this.#messages.get(request);
    return present(
      message?.kind === kind ? message : undefined,
      `the ${kind} of an answer`,
    ) as Extract<Received, { kind: Kind }>;
  }

  #reducerId(name: string): number {
    const definition = this.#live.description?.definition;
    const reducers = definition === undefined ? [] : flatDefinition(definition).reducers;
    const id = reducers.findIndex((reducer) => reducer.name === name);
    return id < 0 ? 0xffff_ffff : id;
  }
}

/** Parses a message; a long one is parsed in slices. */
function messageFromText(text: string): Received | Promise<Received> {
  if (text.length <= limits.wholeTextCharactersMax) return clientMessageFromText(text);
  return inSlices(clientMessageSteps(text));
}

function subscribeOf(requestId: number, setId: SetId, queries: readonly string[]): LiveSubscribe {
  return { kind: 'subscribe', requestId, setId, queries, knowsEvents: false };
}

/**
 * Makes `SELECT * FROM *` a syntax error in a single query, which must name one table, by adding a
 * semicolon.
 */
function withoutStar(query: string): string {
  return /^\s*select\s*\*\s*from\s*\*\s*$/i.test(query) ? `${query.trim()};` : query;
}

/** Restores the client's query text in an error: each error of a single query names it. */
function executing(error: string, query: string): string {
  const asked = suffixOf(withoutStar(query));
  const reason = error.endsWith(asked) ? error.slice(0, -asked.length) : error;
  return reason + suffixOf(query);
}

function suffixOf(query: string): string {
  return `, executing: \`${query.trim()}\``;
}

function singleTable(
  all: Parameters<typeof tableOfRows>[0],
  sent: Parameters<typeof tableOfRows>[0],
  as: 'inserts' | 'deletes',
): TableUpdate<QueryUpdate> {
  const { tableId, table } = tableOfRows(all, as);
  return { ...tableOfRows(sent, as), tableId, table };
}

function hasRun({ code }: CallError): boolean {
  return codesOfRun.has(code);
}

const codesOfRun: ReadonlySet<CallError['code']> = new Set([
  'reducer.refused',
  'reducer.refusedWithValue',
  'reducer.refusedWithoutValue',
  'reducer.crashed',
  'reducer.overBudget',
  'quota.exceeded',
]);

function statusOf<Rows>(outcome: CallOutcome, tables: readonly TableUpdate<Rows>[]) {
  if (outcome.kind === 'committed') return { kind: 'committed', tables } as const;
  return { kind: 'failed', message: callErrorText(outcome.error) } as const;
}
