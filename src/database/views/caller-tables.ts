import { present } from '../../assert.ts';
import { type TableId, type ViewId, viewId } from '../../schema/ids.ts';
import { clusterTableId, deployTableId, scheduleTableId } from '../../schema/system-tables.ts';
import { invalid } from '../../sql/failure.ts';
import type { StatementCaller } from '../../sql/rights.ts';
import type { SqlSchema, SqlTables } from '../../sql/schema.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { ListedPart } from '../cluster-rows.ts';
import type { ReadDeploys } from '../deploy-rows.ts';
import { listSchedules } from '../schedules/list-schedules.ts';
import type { Schedules } from '../schedules/schedules.ts';
import { clusterTable, deployTable, type SystemTables, scheduleTable } from '../system-tables.ts';
import { statementFailureText } from './view-failure.ts';
import type { ViewInstances } from './view-instances.ts';

export interface TableSources {
  readonly store: Store;
  readonly program: {
    readonly systemTables: SystemTables;
    readonly sql: SqlSchema;
    readonly hash: string;
    readonly schemaVersion: number;
  };
  /** What was published; absent where nobody lists it. */
  readonly deploys: ReadDeploys | undefined;
  readonly schedules: Schedules;
  readonly views: ViewInstances;
}

/**
 * Where one caller's statement finds its rows: stored tables, computed system tables as far as the
 * caller can see them, and the caller's instances of views. Valid within the turn that it was
 * created in.
 */
export class CallerTables implements SqlTables {
  readonly #sources: TableSources;
  readonly #caller: StatementCaller;
  readonly #nowMicros: bigint;
  readonly #cluster: readonly ListedPart[];
  #schedules: Table | undefined;
  #deploys: Table | undefined;
  #clustered: Table | undefined;

  /** `cluster`: what the door shows an operator of the cluster; absent: nothing. */
  constructor(
    sources: TableSources,
    caller: StatementCaller,
    nowMicros: bigint,
    cluster: readonly ListedPart[] = [],
  ) {
    this.#sources = sources;
    this.#caller = caller;
    this.#nowMicros = nowMicros;
    this.#cluster = cluster;
  }

  /**
   * Evaluates the views of a statement, before it runs and before it begins a transaction. Throws
   * `SqlFailure` when one of them fails.
   */
  prepareViews(ids: readonly ViewId[]): void {
    if (ids.length === 0) return;
    const failure = this.#sources.views.prepare(ids, this.#caller.identity, this.#nowMicros);
    if (failure !== undefined) throw invalid(statementFailureText(failure));
  }

  /** The `id` in the spec of a view's table is that of the instance, not the view's. */
  table(id: TableId): Table {
    const { store, program, views } = this.#sources;
    const { identity, rights } = this.#caller;
    if (id === scheduleTableId) return this.#scheduleTable();
    if (id === deployTableId) return this.#deployTable();
    if (id === clusterTableId) return this.#clusterTable();
    const found = store.table(id) ?? program.systemTables.table(id, store.offset, rights);
    if (found !== undefined) return found;
    // Neither stored nor computed, so it is a view.
    return present(views.table(viewId(id), identity), `table ${id} of a statement`);
  }

  /** The same rows for all of one statement. Their list is for developers, as over HTTP. */
  #scheduleTable(): Table {
    const { rights } = this.#caller;
    const isShown = rights.readsProgram;
    this.#schedules ??= scheduleTable(isShown ? listSchedules(this.#sources, rights) : []);
    return this.#schedules;
  }

  #clusterTable(): Table {
    this.#clustered ??= clusterTable(this.#cluster);
    return this.#clustered;
  }

  /** Likewise. */
  #deployTable(): Table {
    const { deploys, program } = this.#sources;
    const { hash, schemaVersion: commit } = program;
    const isShown = this.#caller.rights.readsProgram;
    this.#deploys ??= deployTable((isShown && deploys?.({ program: hash, commit })) || []);
    return this.#deploys;
  }
}
