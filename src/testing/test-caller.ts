import { FilteredQuery, isTypedQuery } from '../declare/query.ts';
import type { Request, RequestInit, SyncResponse } from '../server/http-messages.ts';
import type { Identity } from '../values/identity.ts';
import type {
  CallArguments,
  DatabaseRequests,
  QueryParameters,
  TestRow,
} from './database-requests.ts';
import type {
  AnyModule,
  TestProcedures,
  TestQuery,
  TestReducers,
  TestTables,
} from './module-types.ts';
import { functionsOf } from './test-functions.ts';
import { tablesOf } from './test-tables.ts';
import type { TestWatch } from './test-watch.ts';

/**
 * A caller of a test, who has the rights of its identity. `M` is the type of the module. Made by
 * `db.as`.
 *
 * ```ts
 * const ann = db.as('ann');
 * await ann.reducers.addTask({ title: 'drink tea' });
 * const task = await ann.tables.task.id.find(1n);
 * ```
 */
export class TestCaller<M = AnyModule> {
  readonly identity: Identity;
  readonly #requests: DatabaseRequests;

  constructor(requests: DatabaseRequests, identity: Identity) {
    this.#requests = requests;
    this.identity = identity;
  }

  /** The reducers of the module, by the names of their exports. */
  get reducers(): TestReducers<M> {
    return this.#functions('reducers') as TestReducers<M>;
  }

  /** The procedures of the module, by the names of their exports. */
  get procedures(): TestProcedures<M> {
    return this.#functions('procedures') as TestProcedures<M>;
  }

  /** The tables and views of the module, with the rows that this caller may read. */
  get tables(): TestTables<M> {
    const { identity: as } = this;
    const requests = this.#requests;
    // `module-types.ts` says what compiles.
    return tablesOf(requests.names(), {
      rows: (sql, { rowType }) => requests.query(sql, as, { rowType }),
      count: async (sql) => (await requests.query(sql, as))[0]?.n as bigint,
    }) as TestTables<M>;
  }

  /**
   * Subscribes to a query as a client does, over a connection of its own, for which the module's
   * `clientConnected` runs. Rows of tables and views are in the module's spelling, computed ones
   * under the names of their columns in SQL. Rejects with `QueryFailed`.
   */
  async watch<Row = TestRow>(query: TestQuery<M, Row>): Promise<TestWatch<Row>> {
    const made = this.#made(query);
    const sql = typeof made === 'string' ? made : made.toSql();
    // The query says what its rows are.
    return (await this.#requests.watch(sql, this.identity)) as TestWatch<Row>;
  }

  /**
   * Runs one SQL statement, or a query of `tables`, and returns its rows: those of a statement with
   * canonical names, those of a query in the module's spelling. Throws `QueryFailed`.
   */
  async query<Row = TestRow>(query: TestQuery<M, Row>, params?: QueryParameters): Promise<Row[]> {
    const made = this.#made(query);
    if (typeof made === 'string') {
      const given = params === undefined ? {} : { params };
      return (await this.#requests.query(made, this.identity, given)) as Row[];
    }
    const { byName } = this.#requests.names();
    const table = byName.get(made.source.name);
    const whose = table === undefined ? {} : { rowType: table.rowType };
    return (await this.#requests.query(made.toSql(), this.identity, whose)) as Row[];
  }

  /** Calls a function by its name, such as one that clients cannot call. */
  async call<Returned = unknown>(name: string, args: CallArguments = []): Promise<Returned> {
    const spelling = 'clients';
    const value = await this.#requests.call({ name, args, as: this.identity, spelling });
    // Only the module says what the function returns, and the test knows the module.
    return value as Returned;
  }

  /** Sends a request to the HTTP handlers of the module, with a token of this caller. */
  request(target: string | Request, init: RequestInit = {}): Promise<SyncResponse> {
    return this.#requests.request(target, this.identity, init);
  }

  #functions(kind: 'reducers' | 'procedures'): object {
    return functionsOf(this.#requests.names(), kind, (name, args) => {
      return this.#requests.call({ name, args, as: this.identity, spelling: 'module' });
    });
  }

  #made(query: TestQuery<M>): string | FilteredQuery {
    const made: unknown = typeof query === 'function' ? query(this.tables) : query;
    if (typeof made === 'string') return made;
    if (isTypedQuery(made) && made instanceof FilteredQuery) return made;
    throw new TypeError('a query is SQL text, or made of `tables`');
  }
}
