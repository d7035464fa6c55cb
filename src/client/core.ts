/**
 * The client behind both APIs (`connect` and `DbConnection`): it sends requests and query sets over
 * the link and applies the answers.
 *
 * Invariants:
 * 1. A message is applied as a whole before its changes are reported; messages are handled one
 *    after another.
 * 2. After a reconnect the old contents stay until every set has been applied again; then the
 *    difference between the two is reported.
 * 3. A promise settles after the changes of its call were reported.
 * 4. A callback that throws is reported and stops nothing.
 */

import { forEachRow } from '../protocol/row-list.ts';
import type { ClientMessage } from '../protocol/v2/client-message.ts';
import { encodeClientMessage } from '../protocol/v2/client-message.ts';
import type { Resumed } from '../protocol/v2/resume.ts';
import type {
  ReducerOutcome,
  ReducerResult,
  ServerMessage,
  TableRows,
} from '../protocol/v2/server-message.ts';
import { clientRequestsMax } from '../shared-limits.ts';
import type { Identity } from '../values/identity.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { ClientSchema, ClientTable, Row } from './client-schema.ts';
import {
  type ComputedTable,
  Contents,
  type Difference,
  insertsOf,
  noDifference,
  type SetChange,
} from './contents.ts';
import {
  asError,
  ConnectionLostError,
  InternalError,
  OverloadedError,
  QueryError,
} from './errors.ts';
import type { Event, EventParts } from './events.ts';
import { guarded } from './guarded.ts';
import { Link, type LinkOptions } from './link.ts';
import type { Platform } from './platform.ts';
import { Predictions } from './predictions.ts';
import type { QuerySet, QuerySetListener } from './query-set.ts';
import {
  type CallOptions,
  errorOf,
  type Request,
  Requests,
  type Tracked,
  trackedOf,
  unreadable,
} from './requests.ts';
import type { ResumingOptions, SetRequest } from './resuming.ts';

export interface CoreOptions extends LinkOptions, Omit<ResumingOptions, 'target'> {
  /** Called with the token that the server issued. */
  readonly saveToken?: ((token: string) => void) | undefined;
  /** Called for every connection; returns the same object as long as the schema stays the same. */
  readonly loadSchema: () => ClientSchema | Promise<ClientSchema>;
  /** The schema of an earlier visit: used to show rows at once, never to talk to the server. */
  readonly keptSchema?: () => Promise<ClientSchema | undefined>;
  /** Reads the types of computed rows; without it they are not supported. */
  readonly computedTable?: ComputedTable;
  /** How long a call waits to be sent. */
  readonly queueMillis: number;
}

/** Events that the core passes to the API in front of it. */
export interface Face {
  /** Row changes to report, all from one message. */
  changed(difference: Difference, event: Event): void;
  welcomed(identity: Identity, token: string): void;
  lost?(wasOpen: boolean, error: Error | undefined): void;
}

/**
 * Receives changes after the face, when the program's callbacks have run: for code that shows rows.
 */
export interface Watcher {
  /** The schema for which queries are sent from now on. */
  begun(schema: ClientSchema): void;
  changed(difference: Difference): void;
  lost(): void;
}

/** A message to be sent, in the order of the program's requests. */
type Outgoing = Tracked | SetRequest;

/** Contents that are rebuilt after a reconnect while the old ones are still shown. */
interface Return {
  readonly contents: Contents;
  readonly awaited: Set<QuerySet>;
  /** Calls that were answered in the meantime. */
  readonly over: Set<Tracked>;
  /** Notifications of sets, run just before the difference is reported. */
  readonly before: (() => void)[];
  /** Callbacks to run just after it. */
  readonly after: (() => void)[];
}

export class Core {
  readonly link: Link;
  readonly requests: Requests;
  readonly predictions: Predictions;
  watcher: Watcher | undefined;
  readonly #options: CoreOptions;
  readonly #face: Face;
  readonly sets = new Map<number, QuerySet>();
  #outbox: Outgoing[] = [];
  #isFlushing = false;
  /** Counts connections; an answer from an older one is stale. */
  #run = 0;
  #canSend = false;
  #loading: Promise<ClientSchema> | undefined;
  #schema: ClientSchema | undefined;
  #shown: Contents | undefined;
  #return: Return | undefined;
  #requestId = 0;
  #querySetId = 0;
  #eventId = 0;

  constructor(options: CoreOptions, face: Face) {
    this.#options = options;
    this.#face = face;
    const { platform, queueMillis } = options;
    this.predictions = new Predictions(this, (difference) => {
      this.#tell(difference, { tag: 'Optimistic' });
    });
    this.requests = new Requests(platform, queueMillis, (call) => this.predictions.withdraw(call));
    this.link = new Link(options, {
      ready: () => this.#ready(),
      issued: (token) => this.#guard(() => options.saveToken?.(token)),
      welcomed: (identity, token) => this.#guard(() => face.welcomed(identity, token)),
      received: (message) => this.#received(message),
      lost: (wasOpen, error) => this.#lost(wasOpen, error),
      closed: (error) => this.#closed(error),
    });
  }

  /** Begins to connect; the schema is fetched at the same time. */
  start(): void {
    const schema = this.#options.loadSchema();
    if (schema instanceof Promise) {
      this.#loading = schema;
      // If it fails, it is retried when the connection is open.
      schema.catch(() => {
        this.#loading = undefined;
      });
      this.#options.keptSchema?.().then((kept) => {
        if (kept !== undefined && this.#schema === undefined) this.#describe(kept);
      }, this.platform.report);
    } else {
      this.#describe(schema);
    }
    this.link.start();
    import('./resuming.ts').then(({ Resuming }) => {
      const isCurrent = this.#canSend && !this.#return;
      this.link.resuming = new Resuming(this, this.#options, isCurrent);
    }, this.platform.report);
  }

  get platform(): Platform {
    return this.#options.platform;
  }

  get schema(): ClientSchema | undefined {
    return this.#schema;
  }

  /** The contents that are shown. */
  get contents(): Contents | undefined {
    return this.#shown;
  }

  get isClosed(): boolean {
    return this.link.state.get().kind === 'closed';
  }

  call<Result>(request: Request, options: CallOptions = {}): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const { count } = this.requests;
      if (count >= clientRequestsMax) throw new OverloadedError(count);
      const tracked = trackedOf(request, resolve, reject);
      this.requests.add(tracked, options, this.#canSend);
      if (this.isClosed) this.requests.reject(tracked, new ConnectionLostError('not-sent'));
      else this.#put(tracked);
      if (request.predict !== undefined) this.predictions.add(tracked, request.predict);
    });
  }

  subscribe(queries: QuerySet['queries'], listener: QuerySetListener): QuerySet {
    const id = this.#querySetId;
    this.#querySetId += 1;
    const set: QuerySet = { id, queries, listener, status: 'waiting', wasApplied: false };
    if (this.isClosed) this.#close([set], undefined);
    else this.#put({ kind: 'subscribe', set });
    return set;
  }

  unsubscribe(set: QuerySet): void {
    if (set.status === 'ended' || set.status === 'leaving') return;
    if (set.status === 'waiting' || !this.#canSend) {
      this.#outbox = this.#outbox.filter((each) => !('set' in each && each.set === set));
      this.#end(set);
      return;
    }
    set.status = 'leaving';
    this.#put({ kind: 'unsubscribe', set });
  }

  #put(outgoing: Outgoing): void {
    this.#outbox.push(outgoing);
    if (!this.#canSend || this.#isFlushing) return;
    // Requests made in the same tick share a frame.
    this.#isFlushing = true;
    Promise.resolve().then(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const messages: Uint8Array[] = [];
    // One by one: a callback may end a waiting request, or the connection, in between.
    while (this.#canSend && this.#outbox.length > 0) {
      const message = this.#messageOf(this.#outbox.shift() as Outgoing);
      if (message !== undefined) messages.push(encodeClientMessage(message));
    }
    if (messages.length > 0) this.link.send(messages);
  }

  #messageOf(outgoing: Outgoing): ClientMessage | undefined {
    const schema = this.#schema;
    if (schema === undefined) return undefined;
    const requestId = this.#requestId;
    this.#requestId += 1;
    switch (outgoing.kind) {
      case 'subscribe': {
        const { set } = outgoing;
        try {
          const queries = set.queries(schema);
          set.status = 'asked';
          this.sets.set(set.id, set);
          this.#return?.awaited.add(set);
          return { kind: 'subscribe', requestId, querySetId: set.id, queries };
        } catch (error) {
          this.#fail(set, asError(error));
          return undefined;
        }
      }
      case 'unsubscribe': {
        const querySetId = outgoing.set.id;
        return { kind: 'unsubscribe', requestId, querySetId, sendDroppedRows: false };
      }
      default:
        this.requests.sent(requestId, outgoing);
        try {
          if (!outgoing.isSettled) return outgoing.request.message(requestId, schema);
        } catch (error) {
          this.requests.reject(outgoing, error);
        }
        // Nothing was sent, so there will be no answer.
        this.requests.answered(requestId);
        return undefined;
    }
  }

  /** The link is writable: as soon as the schema is known, everything queued is sent. */
  #ready(): void {
    this.#run += 1;
    const run = this.#run;
    const schema = this.#loading ?? this.#options.loadSchema();
    this.#loading = undefined;
    if (!(schema instanceof Promise)) {
      this.#begin(schema);
      return;
    }
    schema.then(
      (loaded) => run === this.#run && this.#begin(loaded),
      (error: Error) => run === this.#run && this.link.fail(error),
    );
  }

  #describe(schema: ClientSchema): void {
    this.#schema = schema;
    this.#shown ??= this.#newContents(schema);
  }

  #newContents(schema: ClientSchema): Contents {
    return new Contents(schema, this.#options.computedTable);
  }

  #begin(schema: ClientSchema): void {
    this.#describe(schema);
    this.watcher?.begun(schema);
    if (!this.link.resuming?.begin(schema)) this.beginAgain();
  }

  /** The rows of all sets are read again, while the old ones are shown. */
  beginAgain(): void {
    const schema = this.#schema as ClientSchema;
    const sets = [...this.sets.values()];
    if (sets.length > 0) {
      const contents = this.#newContents(schema);
      this.#return = { contents, awaited: new Set(sets), over: new Set(), before: [], after: [] };
    } else {
      // There are no shown rows to keep, and the database may have other tables now.
      const difference = this.predictions.beneath(() => {
        this.#shown = this.#newContents(schema);
        return noDifference;
      });
      // Calls that were made before the schema was known are predicted from now on.
      if (difference?.shown !== undefined) this.#tell(difference, { tag: 'Optimistic' });
    }
    // The previous sets, in their old order, then the queued messages: one frame if they fit.
    this.goOn(sets.map((set) => ({ kind: 'subscribe', set })));
    this.#showIfComplete();
  }

  /** Sends what waits, behind `first`. */
  goOn(first: readonly SetRequest[]): void {
    this.#canSend = true;
    this.#outbox.unshift(...first);
    this.#flush();
  }

  #received(message: ServerMessage | Resumed): void {
    try {
      this.#handle(message);
    } catch (error) {
      // A message that cannot be decoded: nothing after it could be applied.
      const cause = asError(error);
      this.platform.report(cause);
      this.link.fail(cause);
    }
  }

  #handle(message: ServerMessage | Resumed): void {
    switch (message.kind) {
      case 'subscribeApplied':
        this.#applied(message.querySetId, message.tables);
        break;
      case 'unsubscribeApplied': {
        const set = this.sets.get(message.querySetId);
        if (set !== undefined) this.#end(set);
        break;
      }
      case 'subscriptionError': {
        const set = this.sets.get(message.querySetId);
        if (set !== undefined) this.#fail(set, new QueryError(message.error));
        break;
      }
      case 'transactionUpdate':
        this.#change(message.querySets, { tag: 'Transaction' });
        break;
      case 'reducerResult':
        this.#reducerResult(message);
        break;
      case 'procedureResult': {
        const { requestId, status } = message;
        const tracked = this.requests.answered(requestId);
        if (tracked === undefined) break;
        if (status.kind === 'returned') this.#answer(tracked, status.value);
        else this.requests.reject(tracked, new InternalError(status.message));
        break;
      }
      case 'oneOffQueryResult': {
        const { requestId, result } = message;
        const tracked = this.requests.answered(requestId);
        if (tracked === undefined) break;
        try {
          if (result.kind === 'err') throw new QueryError(result.error);
          this.requests.resolve(tracked, this.#rowsOf(result.tables));
        } catch (error) {
          this.requests.reject(tracked, error);
        }
        break;
      }
    }
  }

  /** Rows of a one-off query, decoded by their tables. */
  #rowsOf(tables: readonly TableRows[]): Row[] {
    return tables.flatMap(({ table, rows }) => {
      const known = this.#tableNamed(table);
      if (known === undefined) throw new QueryError(`rows of an unknown table ${table}`);
      const found: Row[] = [];
      forEachRow(rows, (start, end) => found.push(known.decode(rows.data, start, end)));
      return found;
    });
  }

  #tableNamed(name: string): ClientTable | undefined {
    const { computedTable } = this.#options;
    if (computedTable !== undefined && name.startsWith('{')) return computedTable(name);
    return this.#schema?.tablesByName.get(name);
  }

  #applied(querySetId: number, tables: readonly TableRows[]): void {
    const set = this.sets.get(querySetId);
    if (set === undefined || set.status === 'applied') return;
    if (set.status === 'asked') set.status = 'applied';
    const change = { querySetId, tables: tables.map(insertsOf) };
    this.#changeSet(
      set,
      'SubscribeApplied',
      (contents) => contents.apply([change]),
      () => {
        if (set.status !== 'applied' || set.wasApplied) return;
        set.wasApplied = true;
        set.listener.applied();
      },
    );
  }

  /** Removes a set and its rows, and reports it. */
  #end(set: QuerySet, tell = () => set.listener.left()): void {
    set.status = 'ended';
    this.sets.delete(set.id);
    const drop = (contents: Contents) => contents.drop(set.id);
    this.#changeSet(set, 'UnsubscribeApplied', drop, tell);
  }

  /**
   * Changes the rows of a set, then notifies its listener, then reports the changes; during a
   * reconnect, later.
   */
  #changeSet(
    set: QuerySet,
    tag: 'SubscribeApplied' | 'UnsubscribeApplied',
    change: (contents: Contents) => Difference,
    tell: () => void,
  ): void {
    const returning = this.#return;
    if (returning !== undefined) {
      change(returning.contents);
      returning.before.push(tell);
      returning.awaited.delete(set);
      this.#showIfComplete();
      return;
    }
    const difference = this.predictions.beneath(change);
    this.#guard(tell);
    this.#tell(difference, { tag });
  }

  #fail(set: QuerySet, error: Error): void {
    const { wasApplied, status, listener } = set;
    // The answer to an Unsubscribe: the set is gone, as requested.
    this.#end(set, status === 'leaving' ? undefined : () => listener.failed(error, wasApplied));
  }

  #change(changes: readonly SetChange[], event: EventParts, answered?: Tracked): void {
    const known = changes.filter(({ querySetId }) => this.sets.has(querySetId));
    if (this.#return !== undefined) {
      const { contents, over, after } = this.#return;
      const difference = contents.apply(known);
      if (answered !== undefined) over.add(answered);
      // Rows of event tables are not kept, so the final difference does not contain them.
      const tables = difference.tables.filter(({ table }) => table.parts.isEvent);
      after.push(() => this.#tell({ ...difference, ...noDifference, tables }, event));
      return;
    }
    // No shown row changes: there is nothing to report.
    if (known.length === 0 && !this.predictions.has(answered)) return;
    const over = answered && new Set([answered]);
    const difference = this.predictions.beneath((shown) => shown.apply(known), over);
    this.#tell(difference, event);
  }

  #reducerResult({ requestId, timestamp, outcome }: ReducerResult): void {
    const tracked = this.requests.answered(requestId);
    if (outcome.kind === 'ok') {
      const reducer = tracked?.request.info?.();
      const at = new Timestamp(timestamp);
      const event: EventParts =
        reducer === undefined
          ? { tag: 'Transaction' }
          : { tag: 'Reducer', value: { timestamp: at, outcome: { tag: 'Ok' }, reducer } };
      this.#change(outcome.querySets, event, tracked);
    }
    if (tracked === undefined) return;
    if (this.#return === undefined) this.#settleBy(outcome, tracked);
    else this.#return.after.push(() => this.#settleBy(outcome, tracked));
  }

  #settleBy(outcome: ReducerOutcome, tracked: Tracked): void {
    if (outcome.kind === 'ok') this.#answer(tracked, outcome.returned);
    else if (outcome.kind === 'okEmpty') this.requests.resolve(tracked, undefined);
    else this.requests.reject(tracked, errorOf(outcome, tracked.request));
  }

  #answer(tracked: Tracked, returned: Uint8Array): void {
    try {
      this.requests.resolve(tracked, tracked.request.result?.(returned));
    } catch (cause) {
      this.requests.reject(tracked, unreadable('the call is done, and its value', cause));
    }
  }

  /** Once every set has been applied again, the new contents replace the old ones. */
  #showIfComplete(): void {
    const returning = this.#return;
    if (returning === undefined || returning.awaited.size > 0) return;
    this.#return = undefined;
    this.link.resuming?.shown();
    const old = this.#shown;
    const difference = this.predictions.beneath(() => {
      this.#shown = returning.contents;
      return old === undefined ? noDifference : returning.contents.differenceFrom(old);
    }, returning.over);
    for (const tell of returning.before) this.#guard(tell);
    this.#tell(difference, { tag: 'Reconnected' });
    for (const settle of returning.after) settle();
  }

  #tell(difference: Difference | undefined, parts: EventParts): void {
    if (difference === undefined) return;
    const event = { id: String(this.#eventId), ...parts } as Event;
    this.#eventId += 1;
    this.#guard(() => this.#face.changed(difference, event));
    this.watcher?.changed(difference);
  }

  #lost(wasOpen: boolean, error: Error | undefined): void {
    this.#run += 1;
    this.#canSend = false;
    const returning = this.#return;
    this.#return = undefined;
    for (const settle of returning?.after ?? []) settle();
    const repeats = this.requests.lost();
    const waiting = this.#outbox.filter(({ kind }) => kind !== 'unsubscribe');
    this.#outbox = [...repeats, ...waiting];
    // Not a copy: a callback may disconnect, which leaves no sets.
    for (const set of this.sets.values()) {
      if (set.status === 'leaving') this.#end(set);
      else set.status = 'asked';
    }
    // Sets that ended during the reconnect are not requested again: nothing else would notify their
    // listeners.
    for (const tell of returning?.before ?? []) this.#guard(tell);
    this.#guard(() => this.#face.lost?.(wasOpen, error));
    this.watcher?.lost();
  }

  #closed(error: Error | undefined): void {
    this.requests.closed();
    const waiting = this.#outbox.flatMap((each) => ('set' in each ? [each.set] : []));
    const sets = [...this.sets.values(), ...waiting];
    this.#outbox = [];
    this.sets.clear();
    this.#close(sets, error);
  }

  #close(sets: readonly QuerySet[], cause: Error | undefined): void {
    const error = cause ?? new ConnectionLostError('not-sent');
    for (const set of sets) {
      set.status = 'ended';
      this.#guard(() => set.listener.closed?.(error));
    }
  }

  /** Sends a query that costs the server almost nothing; any answer is a sign of life. */
  ping(): void {
    if (!this.#canSend) return;
    const requestId = this.#requestId;
    this.#requestId += 1;
    this.link.send([encodeClientMessage({ kind: 'oneOffQuery', requestId, query: '' })]);
  }

  #guard(run: () => void): void {
    guarded(run, this.platform.report);
  }
}
