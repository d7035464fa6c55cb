import type { LiveCommit } from '../../src/database/live/live-commit.ts';
import type { PausedRows } from '../../src/database/live/paused-rows.ts';
import { resume } from '../../src/database/live/resume.ts';
import { querySetId } from '../../src/database/live/set-id.ts';
import { answerOnce, subscribe, unsubscribe } from '../../src/database/live/subscribe.ts';
import type {
  OpenConnection,
  ResumeOutcome,
  SubscribeOutcome,
} from '../../src/database/outcome.ts';
import type { DatabaseReply } from '../../src/database/turn.ts';
import type { QueryRows } from '../../src/live/live-update.ts';
import type { QueryDialect } from '../../src/live/query-dialect.ts';
import { endOfRow, type RowSet, rowCountOf, startOfRow } from '../../src/live/row-set.ts';
import { ownerRights, type Rights, strangerRights } from '../../src/sql/rights.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { type ConnectionNumber, connectionNumber } from '../../src/values/connection-number.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { type CallerIdentity, callerIdentity } from '../../src/values/identity-roles.ts';
import type { ProductType } from '../../src/values/type.ts';
import { type CoreUnderTest, ownerIdentity } from '../support/core-under-test.ts';
import { valueText } from '../support/value-text.ts';
import { rowTypeOf } from './live-lab.ts';

/** Connections to a database without the actor around it. */
export class CoreClients {
  readonly database: CoreUnderTest;
  readonly #handedOut: QueryRows[] = [];
  #lastId = 0xc0n;

  constructor(database: CoreUnderTest) {
    this.database = database;
  }

  connect(identity = ownerIdentity, dialect: QueryDialect = 'subscription'): CoreClient {
    this.#lastId += 1n;
    const id = connectionNumber(this.#lastId);
    const { connections, store } = this.database.core;
    const rights = identity === ownerIdentity ? ownerRights : strangerRights;
    const client = { identity: callerIdentity(identity), jwtPayload: '', rights };
    connections.set(id, { ...client, since: store.offset });
    return new CoreClient(this.database, identity, { id, dialect, handedOut: this.#handedOut });
  }

  /**
   * Ends the turn: returns what was committed for live queries since the last call. The memory of
   * rows that were handed out is somebody else's now.
   */
  take(): readonly LiveCommit[] {
    const commits = this.database.core.live.takeCommits();
    for (const { fragments } of this.#handedOut.splice(0)) {
      for (const { data } of fragments) data.fill(0xff);
    }
    return commits;
  }
}

interface ClientParts {
  readonly id: ConnectionNumber;
  readonly dialect: QueryDialect;
  /** Rows go here that were handed out in this turn. */
  readonly handedOut: QueryRows[];
}

export class CoreClient {
  readonly #database: CoreUnderTest;
  readonly #caller: { identity: CallerIdentity; rights: Rights; jwtPayload: string };
  readonly connectionId: ConnectionNumber;
  readonly #dialect: QueryDialect;
  /** What the next commits brought, by query number. */
  readonly numbers: number[] = [];
  readonly #handedOut: QueryRows[];

  constructor(database: CoreUnderTest, identity: bigint, { id, dialect, handedOut }: ClientParts) {
    this.#handedOut = handedOut;
    this.#database = database;
    this.#caller = {
      identity: callerIdentity(identity),
      rights: identity === ownerIdentity ? ownerRights : strangerRights,
      jwtPayload: '',
    };
    this.connectionId = id;
    this.#dialect = dialect;
  }

  /** The rows of each query, or why not. */
  subscribe(setId: number, ...queries: string[]): string[][] | string {
    return this.#subscribe(setId, queries, true);
  }

  /** As a client that does not know event tables. */
  subscribeAsOld(setId: number, ...queries: string[]): string[][] | string {
    return this.#subscribe(setId, queries, false);
  }

  unsubscribe(setId: number, withRows = false): string[][] | string | undefined {
    const { connectionId } = this;
    const request = { connectionId, unsubscribe: { setId: querySetId(setId), withRows } };
    const begun = unsubscribe(this.#database.core, request, this.#now);
    const outcome = begun.kind === 'paused' ? outcomeOf('unsubscribed', readOn(begun)) : begun;
    if (outcome.kind === 'refused') return outcome.error;
    return outcome.queries?.map((rows) => this.#texts(rows));
  }

  once(sql: string): string[] | string {
    const request = { connection: this.#connection, oneOff: { sql } };
    const begun = answerOnce(this.#database.core, request, this.#now);
    const outcome = begun.kind === 'paused' ? outcomeOf('oneOff', readOn(begun)) : begun;
    if (outcome.kind === 'failed') return outcome.error;
    return textsOf(this.#database, outcome.table, outcome.rows);
  }

  /** Comes back with sets that an earlier connection had. */
  resume(
    from: Pick<ResumeOutcome, 'history'> & { readonly offset: number | bigint },
    sets: Readonly<Record<number, readonly string[]>>,
    confirmed = true,
  ): ResumeOutcome {
    const { history, offset } = from;
    const named = Object.entries(sets).map(([id, queries]) => {
      return { setId: querySetId(Number(id)), queries };
    });
    const asked = { history, offset: BigInt(offset), sets: named, confirmed };
    return resume(this.#database.core, { connection: this.#connection, resume: asked });
  }

  disconnect(): void {
    const { core } = this.#database;
    core.live.dropConnection(core, this.connectionId, this.#now);
    core.connections.delete(this.connectionId);
  }

  get #connection(): OpenConnection {
    return { caller: this.#caller, connectionId: this.connectionId, dialect: this.#dialect };
  }

  get #now(): bigint {
    return this.#database.clock.nowMicros();
  }

  /** Subscribes, and lets others write before all rows are there. */
  begin(setId: number, ...queries: string[]): BegunSet {
    const begun = this.#begin(setId, queries, true);
    if (begun.kind === 'paused') this.numbers.splice(0, this.numbers.length, ...begun.queries);
    else this.#note(begun);
    return new BegunSet(begun, (outcome) => this.#applied(outcome));
  }

  #subscribe(setId: number, queries: readonly string[], knowsEvents: boolean): string[][] | string {
    const begun = this.#begin(setId, queries, knowsEvents);
    return this.#applied(begun.kind === 'paused' ? outcomeOf('subscribed', readOn(begun)) : begun);
  }

  #begin(setId: number, queries: readonly string[], knowsEvents: boolean) {
    const subscription = { setId: querySetId(setId), queries, knowsEvents };
    const request = { connection: this.#connection, subscribe: subscription };
    return subscribe(this.#database.core, request, this.#now);
  }

  #applied(outcome: SubscribeOutcome): string[][] | string {
    if (outcome.kind === 'refused') return outcome.error;
    this.#note(outcome);
    return outcome.queries.map((rows) => this.#texts(rows));
  }

  #note(outcome: SubscribeOutcome): void {
    if (outcome.kind === 'refused') return;
    this.numbers.splice(0, this.numbers.length, ...outcome.queries.map(({ query }) => query));
  }

  #texts(rows: QueryRows): string[] {
    this.#handedOut.push(rows);
    const { table, fragments } = rows;
    return fragments.flatMap((rows) => textsOf(this.#database, table, rows));
  }
}

/** A set whose rows may still be being read. */
export class BegunSet {
  #begun: SubscribeOutcome | PausedRows;
  readonly #textsOf: (outcome: SubscribeOutcome) => string[][] | string;
  pauses = 0;

  constructor(
    begun: SubscribeOutcome | PausedRows,
    textsOf: (outcome: SubscribeOutcome) => string[][] | string,
  ) {
    this.#begun = begun;
    this.#textsOf = textsOf;
  }

  /** Reads one more slice; true when all rows are there. */
  read(): boolean {
    if (this.#begun.kind !== 'paused') return true;
    this.pauses += 1;
    const reply = this.#begun.resume();
    if (reply !== undefined) this.#begun = outcomeOf('subscribed', reply);
    return reply !== undefined;
  }

  /** The rows, or why not. */
  rows(): string[][] | string {
    if (this.#begun.kind === 'paused') throw new Error('the rows are not all there');
    return this.#textsOf(this.#begun);
  }

  /** Gives up reading. */
  cancel(): void {
    if (this.#begun.kind === 'paused') this.#begun.cancel('The connection is not open.');
  }
}

/** Reads all that is left. */
function readOn(rows: PausedRows): DatabaseReply {
  for (;;) {
    const reply = rows.resume();
    if (reply !== undefined) return reply;
  }
}

type Replied<Kind> = Extract<DatabaseReply, { kind: Kind }>;

function outcomeOf<Kind extends 'subscribed' | 'unsubscribed' | 'oneOff'>(
  kind: Kind,
  reply: DatabaseReply,
): Replied<Kind>['outcome'] {
  if (reply.kind !== kind) throw new Error(`answered by ${reply.kind}`);
  return (reply as { readonly outcome: unknown }).outcome as Replied<Kind>['outcome'];
}

/** What a commit says of one query, as `+`, `-` and `!` with the rows. */
export function changesIn(
  database: CoreUnderTest,
  commit: LiveCommit | undefined,
  query: number | undefined,
): string[] {
  const update = commit?.updates.find((one) => one.query === query);
  if (update === undefined) return [];
  const texts = (rows: RowSet, mark: string) =>
    textsOf(database, update.table, rows).map((text) => mark + text);
  return update.changes.flatMap((change) =>
    change.kind === 'event'
      ? texts(change.events, '!')
      : [...texts(change.deletes, '-'), ...texts(change.inserts, '+')],
  );
}

function textsOf({ core }: CoreUnderTest, name: string, rows: RowSet): string[] {
  const rowType = name.startsWith('{') ? rowTypeOf(name) : rowTypeOfTable(core, name);
  const decode = decoderOf(rowType, { types: core.program.sql.types });
  return Array.from({ length: rowCountOf(rows) }, (_, row) =>
    valueText(decode(new BinaryReader(rows.data, startOfRow(rows, row), endOfRow(rows, row)))),
  ).sort();
}

function rowTypeOfTable(core: CoreUnderTest['core'], name: string): ProductType {
  const table = core.program.sql.tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`there is no table ${name}`);
  return { kind: 'product', elements: table.columns };
}
