import { present } from '../../assert.ts';
import type { LiveFragment } from '../../live/fragment.ts';
import type { SetQuery } from '../../live/set-query.ts';
import { type SetChanges, SetWatch } from '../../live/set-watch.ts';
import type { TableId } from '../../schema/ids.ts';
import type { TableChange } from '../../store/change-set.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { ResultRows, ViewInstance } from './view-instance.ts';

/**
 * The instances whose view returned a query that changed rows are followed through: such a query is
 * looked at once for a transaction, by all instances that have it, and the program does not run.
 *
 * Instances whose queries differ in the caller alone share what a changed row is joined with, and
 * each is found by its caller.
 */
export class FollowedViews {
  readonly #store: Store;
  #watch = new SetWatch();
  readonly #byInstance = new Map<ViewInstance, Followed>();
  readonly #byFragment = new Map<LiveFragment, Followed>();
  /** Those whose query is the same for all callers. */
  readonly #shared = new Map<SetQuery, Followed>();
  /** All rows of the instances of a query; those of callers may be the same. */
  readonly #rows = new Map<SetQuery, Set<ResultRows>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** An instance whose rows no other shares. They are shared now if another has the same. */
  add(instance: ViewInstance, query: SetQuery): void {
    this.#shareRows(instance, query);
    const followed = (query.isOfCaller ? undefined : this.#shared.get(query)) ?? {
      query,
      fragment: query.fragmentFor(instance.sender ?? nobody),
      instances: new Set(),
    };
    if (followed.instances.size === 0) {
      this.#watch.add(followed.fragment);
      this.#byFragment.set(followed.fragment, followed);
      if (!query.isOfCaller) this.#shared.set(query, followed);
    }
    followed.instances.add(instance);
    this.#byInstance.set(instance, followed);
  }

  remove(instance: ViewInstance): void {
    const followed = this.#byInstance.get(instance);
    if (followed === undefined) return;
    const { fragment, query, instances } = followed;
    this.#byInstance.delete(instance);
    instances.delete(instance);
    this.#forgetRows(instance.rows, query);
    if (instances.size > 0) return;
    this.#watch.remove(fragment);
    this.#byFragment.delete(fragment);
    if (!query.isOfCaller) this.#shared.delete(query);
  }

  clear(): void {
    this.#watch = new SetWatch();
    this.#byInstance.clear();
    this.#byFragment.clear();
    this.#shared.clear();
    this.#rows.clear();
  }

  /** Gives those of the holders of some rows who change alike rows of their own. */
  split(rows: ResultRows, id: TableId, leaving: readonly ViewInstance[]): ResultRows {
    const own = rows.split(id, leaving);
    const query = leaving[0] && this.#byInstance.get(leaving[0])?.query;
    if (query !== undefined) this.#rows.get(query)?.add(own);
    return own;
  }

  /** Approximate memory for an instance. */
  bytesOf(instance: ViewInstance): number {
    return this.#byInstance.get(instance)?.fragment.bytes ?? 0;
  }

  /** The instances that the open transaction concerns, with the change of each so far. */
  changesBy(transaction: Transaction): ReadonlyMap<ViewInstance, SetChanges> {
    if (this.#byFragment.size === 0) return nothing;
    const tables = transaction.changedTables().filter(({ id }) => this.#watch.has(id));
    return this.changesOf(tables.map((table) => transaction.pendingChangesOf(table)));
  }

  /** The instances that changes of tables concern, which are in the tables already. */
  changesOf(all: readonly TableChange[]): ReadonlyMap<ViewInstance, SetChanges> {
    const changed = all.filter(({ tableId }) => this.#watch.has(tableId));
    const [first] = this.#byFragment.values();
    if (first === undefined || changed.length === 0) return nothing;
    const found = this.#watch.changes({
      changes: changed,
      schema: first.query.schema,
      tables: { table: (id) => present(this.#store.table(id), `table ${id} of a view's query`) },
    });
    const changes = new Map<ViewInstance, SetChanges>();
    for (const [fragment, change] of found) {
      const { instances } = present(this.#byFragment.get(fragment), 'the views of a fragment');
      for (const instance of instances) changes.set(instance, change);
    }
    return changes;
  }

  #shareRows(instance: ViewInstance, query: SetQuery): void {
    const all = this.#rows.get(query) ?? new Set();
    this.#rows.set(query, all);
    let seen = 0;
    let compared = 0;
    for (const rows of all) {
      seen += 1;
      if (seen > seenMax || compared >= comparedMax) break;
      if (rows.table.rowCount !== instance.rows.table.rowCount) continue;
      compared += 1;
      if (!rows.isSameAs(instance.rows)) continue;
      rows.join(instance);
      return;
    }
    all.add(instance.rows);
  }

  /** Called before the instance gives up its rows. */
  #forgetRows(rows: ResultRows, query: SetQuery): void {
    if (rows.holders.size > 1) return;
    const all = this.#rows.get(query);
    all?.delete(rows);
    if (all?.size === 0) this.#rows.delete(query);
  }
}

/** Rows that are not the same mostly differ in their number, or in the first one. */
const seenMax = 256;
const comparedMax = 8;

interface Followed {
  readonly query: SetQuery;
  readonly fragment: LiveFragment;
  readonly instances: Set<ViewInstance>;
}

const nothing: ReadonlyMap<ViewInstance, SetChanges> = new Map();

/** Stands for the caller of an anonymous view. */
const nobody = callerIdentity(0n);
