import { answerOnce, subscribe, unsubscribe } from '../../src/database/live/subscribe.ts';
import type { LiveCommit } from '../../src/database/turn.ts';
import type { QueryRows } from '../../src/live/live-update.ts';
import type { QueryDialect } from '../../src/live/query-dialect.ts';
import { endOfRow, type RowSet, rowCountOf, startOfRow } from '../../src/live/row-set.ts';
import { ownerRights, type Rights, strangerRights } from '../../src/sql/rights.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import type { ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { type CoreUnderTest, ownerIdentity } from '../support/core-under-test.ts';
import { rowTypeOf } from './live-lab.ts';

/** Connections to a database without the actor around it. */
export class CoreClients {
  readonly database: CoreUnderTest;
  #lastId = 0xc0n;

  constructor(database: CoreUnderTest) {
    this.database = database;
  }

  connect(identity = ownerIdentity, dialect: QueryDialect = 'subscription'): CoreClient {
    const id = ++this.#lastId;
    this.database.core.connections.set(id, { identity, jwtPayload: '' });
    return new CoreClient(this.database, identity, { id, dialect });
  }

  /** What was committed for live queries since the last call. */
  take(): readonly LiveCommit[] {
    return this.database.core.live.takeCommits();
  }
}

export class CoreClient {
  readonly #database: CoreUnderTest;
  readonly #caller: { identity: bigint; rights: Rights; jwtPayload: string };
  readonly connectionId: bigint;
  readonly #dialect: QueryDialect;
  /** What the next commits brought, by query number. */
  readonly numbers: number[] = [];

  constructor(
    database: CoreUnderTest,
    identity: bigint,
    { id, dialect }: { readonly id: bigint; readonly dialect: QueryDialect },
  ) {
    this.#database = database;
    this.#caller = {
      identity,
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
    const request = { connectionId, setId, withRows };
    const outcome = unsubscribe(this.#database.core, request, this.#now);
    if (outcome.kind === 'refused') return outcome.error;
    return outcome.queries?.map((rows) => this.#texts(rows));
  }

  once(sql: string): string[] | string {
    const { connectionId } = this;
    const request = { caller: this.#caller, connectionId, sql, dialect: this.#dialect };
    const outcome = answerOnce(this.#database.core, request, this.#now);
    if (outcome.kind === 'failed') return outcome.error;
    return textsOf(this.#database, outcome.table, outcome.rows);
  }

  disconnect(): void {
    const { core } = this.#database;
    core.live.dropConnection(core, this.connectionId, this.#now);
    core.connections.delete(this.connectionId);
  }

  get #now(): bigint {
    return this.#database.clock.nowMicros();
  }

  #subscribe(setId: number, queries: readonly string[], knowsEvents: boolean): string[][] | string {
    const { connectionId } = this;
    const dialect = this.#dialect;
    const request = { caller: this.#caller, connectionId, setId, queries, knowsEvents, dialect };
    const outcome = subscribe(this.#database.core, request, this.#now);
    if (outcome.kind === 'refused') return outcome.error;
    this.numbers.splice(0, this.numbers.length, ...outcome.queries.map(({ query }) => query));
    return outcome.queries.map((rows) => this.#texts(rows));
  }

  #texts({ table, fragments }: QueryRows): string[] {
    return fragments.flatMap((rows) => textsOf(this.#database, table, rows));
  }
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
    textOf(decode(new BinaryReader(rows.data, startOfRow(rows, row), endOfRow(rows, row)))),
  ).sort();
}

function rowTypeOfTable(core: CoreUnderTest['core'], name: string): ProductType {
  const table = core.program.sql.tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`there is no table ${name}`);
  return { kind: 'product', elements: table.columns };
}

function textOf(value: Value): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part));
}
