import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { SetForm } from '../../live/set-query.ts';
import type { SetChanges } from '../../live/set-watch.ts';
import { type ReadSet, readSetBytes } from '../../module/read-set.ts';
import { tableId, type ViewId } from '../../schema/ids.ts';
import type { TableChange } from '../../store/change-set.ts';
import { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { Transaction } from '../../store/transaction.ts';
import { sameBytes } from '../../values/bytes.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { Progress } from '../progress.ts';
import { Dependents } from './dependents.ts';
import {
  evaluateView,
  invalidRows,
  type ReturnedQuery,
  type ViewSurroundings,
} from './evaluate-view.ts';
import { FollowedViews } from './followed-views.ts';
import type { ServedView, ViewProgram } from './served-views.ts';
import type { ViewFailure } from './view-failure.ts';
import {
  instanceKey,
  type LostInstance,
  newInstance,
  type ResultRows,
  type ViewChange,
  type ViewInstance,
} from './view-instance.ts';
import { changeRows, replaceRows } from './view-rows.ts';

export interface ViewOptions extends ViewSurroundings {
  /** The tables that views read. */
  readonly store: Store;
  readonly program: ViewProgram;
  readonly progress: Pick<Progress, 'viewing' | 'viewed'>;
  /** Used instead of the limit in `limits.ts`, for tests. */
  readonly instancesMax?: number;
  readonly bytesMax?: number;
}

/**
 * Results of requested views: one for each view and caller, one for each anonymous view. They are
 * evaluated on first use, and again inside every transaction that writes something they depend on,
 * so a read between transactions sees what a fresh evaluation would give. They are in no log: a
 * database has none when it opens.
 *
 * ```
 *  settled ──▶ open       refresh (of a transaction), replaceProgram (of an update)
 *  open ──▶ settled       commit: with the surrounding transaction; rollback: undone
 * ```
 *
 * The tables of all instances are written by one separate transaction, which ends the same way as
 * the one that it accompanies.
 */
export class ViewInstances {
  readonly #options: ViewOptions;
  readonly #dependents: Dependents;
  readonly #followed: FollowedViews;
  /** Its transactions write the instances' tables; it holds no table itself. */
  readonly #rows = new Store({ tables: [], views: [], types: [], nextId: 1 });
  /** By key. */
  readonly #instances = new Map<string, ViewInstance>();
  /** Instances that no live query holds, by key; least recently used first. */
  readonly #unheld = new Map<string, ViewInstance>();
  #lost: LostInstance[] = [];
  #program: ViewProgram;
  #open: OpenChange | undefined;
  /** Instances that were created since `beginTry`. */
  #tried: ViewInstance[] | undefined;
  #bytes = 0;
  /** Memory of held instances. */
  #heldBytes = 0;
  #lastNumber = 0;

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#dependents = new Dependents(options.store);
    this.#followed = new FollowedViews(options.store);
    this.#program = options.program;
  }

  /**
   * Called when a transaction begins that will be rolled back in any case. Until `endTry` instances
   * can be created from its changes; none of those is kept.
   */
  beginTry(): void {
    assert(this.#open === undefined && this.#tried === undefined, 'one transaction at a time');
    this.#tried = [];
  }

  endTry(): void {
    this.rollback();
    for (const instance of this.#tried ?? []) this.#drop(instance);
    this.#tried = undefined;
  }

  /** Memory of all instances. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#instances.size;
  }

  /**
   * Makes the caller's instances of these views ready for `table`, outside of any transaction, or
   * within one that is only tried. Returns the failure of the first view that cannot be evaluated.
   * Marks the instances as used.
   */
  prepare(
    viewIds: Iterable<ViewId>,
    caller: CallerIdentity,
    nowMicros: bigint,
  ): ViewFailure | undefined {
    assert(this.#open === undefined || this.#tried !== undefined, 'views are prepared in between');
    this.#dropIdle(nowMicros);
    const wanted = new Set(viewIds);
    for (const id of wanted) {
      const view = present(this.#program.views.get(id), `view ${id}`);
      const failure = this.#use(view, view.isAnonymous ? undefined : caller, nowMicros);
      if (failure !== undefined) return failure;
    }
    this.#keepWithin(wanted.size);
    return undefined;
  }

  /**
   * Keeps the caller's prepared instances of these views until they are released as often. Returns
   * false, and holds nothing, if that would be too many.
   */
  hold(viewIds: Iterable<ViewId>, caller: CallerIdentity): boolean {
    const { instancesMax = limits.viewInstancesMax, bytesMax = limits.viewBytesMax } =
      this.#options;
    const wanted = [...viewIds].map((id) => present(this.#instanceOf(id, caller), 'an instance'));
    const added = new Set(wanted.filter(({ holdCount }) => holdCount === 0));
    const addedBytes = [...added].reduce((sum, { bytes }) => sum + bytes, 0);
    if (this.#instances.size - this.#unheld.size + added.size > instancesMax) return false;
    if (added.size > 0 && this.#heldBytes + addedBytes > bytesMax) return false;
    for (const instance of wanted) instance.holdCount += 1;
    for (const { key } of added) this.#unheld.delete(key);
    this.#heldBytes += addedBytes;
    return true;
  }

  /** Releases instances that were held; they are kept while other queries hold them. */
  release(viewIds: Iterable<ViewId>, caller: CallerIdentity, nowMicros: bigint): void {
    for (const id of viewIds) {
      const instance = this.#instanceOf(id, caller);
      // It may have failed, or its program may be gone.
      if (instance === undefined || instance.holdCount === 0) continue;
      instance.holdCount -= 1;
      if (instance.holdCount > 0) continue;
      instance.usedMicros = nowMicros;
      this.#unheld.set(instance.key, instance);
      this.#heldBytes -= instance.bytes;
    }
    this.#keepWithin(0);
  }

  /** Drops what nobody holds: the tables have changed in no transaction of this database. */
  forget(): void {
    assert(this.#open === undefined, 'views are dropped in between');
    for (const instance of [...this.#unheld.values()]) this.#drop(instance);
  }

  /** Instances that were held and have been dropped since the last call. */
  takeLost(): readonly LostInstance[] {
    if (this.#lost.length === 0) return noneLost;
    const lost = this.#lost;
    this.#lost = [];
    return lost;
  }

  /** The rows of a view for a caller, who has had it prepared. */
  table(viewId: ViewId, caller: CallerIdentity): Table {
    return present(this.#instanceOf(viewId, caller), `instance of the view ${viewId}`).rows.table;
  }

  /** Whether the caller's instance of a view exists. */
  has(viewId: ViewId, caller: CallerIdentity): boolean {
    return this.#instanceOf(viewId, caller) !== undefined;
  }

  /** How the caller's result is kept up to date; `undefined`: it does not exist. */
  formOf(viewId: ViewId, caller: CallerIdentity): SetForm | undefined {
    const instance = this.#instanceOf(viewId, caller);
    return instance === undefined ? undefined : (instance.form ?? computedRows);
  }

  /**
   * Re-evaluates every instance that depends on the changes of the open transaction so far; where
   * only rows of the query changed that a program returned, its result follows them.
   * `commit` or `rollback` follows, or another `refresh` of this transaction, which starts over.
   * Returns why a view failed; the transaction must then be rolled back. With `mustSucceed` it
   * cannot be refused: instances that fail are dropped instead, and evaluated on their next use.
   */
  refresh(
    transaction: Transaction,
    nowMicros: bigint,
    mustSucceed: boolean,
  ): ViewFailure | undefined {
    this.rollback();
    if (this.#instances.size === 0) return undefined;
    this.#dropIdle(nowMicros);
    const affected = this.#dependents.affectedBy(transaction);
    const followed = this.#followed.changesBy(transaction);
    return this.#renew(affected, followed, mustSucceed);
  }

  /**
   * Brings every instance up to date with a commit that another host has made, and whose changes
   * are in the tables. Instances that fail are dropped. Returns the changed rows.
   */
  follow(changes: readonly TableChange[], nowMicros: bigint): readonly ViewChange[] {
    assert(this.#open === undefined, 'commits of others come in between');
    if (this.#instances.size === 0) return noChanges;
    this.#dropIdle(nowMicros);
    const affected = this.#dependents.affectedByChanges(changes);
    this.#renew(affected, this.#followed.changesOf(changes), true);
    return this.commit();
  }

  #renew(
    affected: ReadonlySet<ViewInstance>,
    followed: ReadonlyMap<ViewInstance, SetChanges>,
    mustSucceed: boolean,
  ): ViewFailure | undefined {
    if (affected.size === 0 && followed.size === 0) return undefined;
    const open = this.#begin(undefined);
    for (const instance of affected) {
      const failure = this.#evaluate(instance, open, this.#program);
      if (failure === undefined) continue;
      if (!mustSucceed) return failure;
      giveUp(open, [instance], failure);
    }
    for (const { rows, changes } of this.#changedAlike(followed, affected)) {
      const failure = this.#follow(rows, open, changes);
      if (failure === undefined) continue;
      if (!mustSucceed) return failure;
      giveUp(open, rows.holders, failure);
    }
    return undefined;
  }

  /**
   * Switches to another program, for whose tables the store is ready. Its code may have changed any
   * result, so every instance whose view still exists, with the same id, is evaluated again; the
   * others are dropped. `commit` or `rollback` follows. Returns why a view failed.
   */
  replaceProgram(program: ViewProgram): ViewFailure | undefined {
    assert(this.#open === undefined, 'one transaction at a time');
    const open = this.#begin(program);
    for (const instance of this.#instances.values()) {
      if (!program.views.has(instance.viewId)) {
        open.failed.push(instance);
        continue;
      }
      const failure = this.#evaluate(instance, open, program);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  /** Makes the changes of `refresh` or `replaceProgram` permanent. Returns the changed rows. */
  commit(): readonly ViewChange[] {
    const open = this.#open;
    if (open === undefined) return noChanges;
    const changes = this.#finish(open);
    this.#keepWithin(0);
    return changes;
  }

  /** Undoes `refresh` or `replaceProgram`. */
  rollback(): void {
    this.#open?.transaction.rollback();
    this.#open = undefined;
  }

  #finish(open: OpenChange): readonly ViewChange[] {
    this.#open = undefined;
    const changes = open.transaction.commit();
    if (open.program !== undefined) {
      this.#program = open.program;
      this.#dependents.clear();
      this.#followed.clear();
    }
    const viewChanges = viewChangesOf(changes?.tables ?? [], open.evaluated);
    const evaluated = [...open.evaluated.values()];
    // None is compared with rows that another has yet to leave.
    for (const { instance } of evaluated)
      if (instance !== undefined) this.#followed.remove(instance);
    for (const one of evaluated) this.#settle(one);
    for (const instance of open.failed) this.#drop(instance);
    this.#lost.push(...open.lost);
    return viewChanges;
  }

  #begin(program: ViewProgram | undefined): OpenChange {
    const transaction = this.#rows.begin();
    this.#open = { transaction, program, evaluated: new Map(), failed: [], lost: [] };
    return this.#open;
  }

  #use(
    view: ServedView,
    sender: CallerIdentity | undefined,
    nowMicros: bigint,
  ): ViewFailure | undefined {
    const key = instanceKey(view.id, sender);
    const known = this.#instances.get(key);
    if (known !== undefined) {
      if (nowMicros > known.usedMicros) known.usedMicros = nowMicros;
      if (this.#unheld.delete(key)) this.#unheld.set(key, known);
      return undefined;
    }
    this.#lastNumber += 1;
    const instance = newInstance(view, tableId(this.#lastNumber), sender, nowMicros);
    this.#rows.adopt(instance.rows.table);
    const open = this.#open ?? this.#begin(undefined);
    const failure = this.#evaluate(instance, open, this.#program);
    if (failure !== undefined) {
      if (this.#tried === undefined) this.rollback();
      return failure;
    }
    this.#instances.set(key, instance);
    this.#unheld.set(key, instance);
    if (this.#tried === undefined) this.#finish(open);
    else this.#try(instance, open);
    return undefined;
  }

  /**
   * Its rows exist until `refresh` or `rollback`, and its dependencies are known. There are no rows
   * before the transaction that changes could be followed from.
   */
  #try(instance: ViewInstance, open: OpenChange): void {
    const evaluated = present(
      open.evaluated.get(instance.rows.table.id),
      'a view that was evaluated',
    );
    const { reads = instance.reads, query } = evaluated;
    const all = withTables(reads, query);
    this.#settle({ instance, rows: instance.rows, reads: all, query: undefined });
    this.#tried?.push(instance);
  }

  #evaluate(
    instance: ViewInstance,
    open: OpenChange,
    program: ViewProgram,
  ): ViewFailure | undefined {
    const { progress } = this.#options;
    const view = present(program.views.get(instance.viewId), 'view of an instance');
    progress.viewing();
    const evaluation = evaluateView(program.runner, view, instance.sender, this.#options);
    progress.viewed();
    if (evaluation.kind === 'failed') return evaluation.failure;
    const { rows } = instance;
    const own = rows.holders.size > 1 ? this.#split(rows, [instance]) : rows;
    const fault = replaceRows(own.table, open.transaction, evaluation);
    if (fault !== undefined) return invalidRows(view, fault, this.#options).failure;
    const { query, reads } = evaluation;
    const isFollowed = query?.form.kind === 'followed';
    const all = isFollowed ? reads : withTables(reads, query);
    open.evaluated.set(own.table.id, { instance, rows: own, reads: all, query });
    return undefined;
  }

  /** The rows that change; holders who do not change alike have rows of their own then. */
  #changedAlike(
    followed: ReadonlyMap<ViewInstance, SetChanges>,
    affected: ReadonlySet<ViewInstance>,
  ): readonly { readonly rows: ResultRows; readonly changes: SetChanges }[] {
    const changed = new Map<ResultRows, Map<SetChanges, ViewInstance[]>>();
    for (const [instance, changes] of followed) {
      if (affected.has(instance)) continue;
      const byChange = changed.get(instance.rows) ?? new Map<SetChanges, ViewInstance[]>();
      changed.set(instance.rows, byChange);
      const alike = byChange.get(changes);
      if (alike === undefined) byChange.set(changes, [instance]);
      else alike.push(instance);
    }
    return [...changed].flatMap(([rows, byChange]) =>
      [...byChange].map(([changes, alike]) => {
        const isAll = alike.length === rows.holders.size;
        return { rows: isAll ? rows : this.#split(rows, alike), changes };
      }),
    );
  }

  #split(rows: ResultRows, leaving: readonly ViewInstance[]): ResultRows {
    this.#lastNumber += 1;
    const own = this.#followed.split(rows, tableId(this.#lastNumber), leaving);
    this.#rows.adopt(own.table);
    return own;
  }

  #follow(rows: ResultRows, open: OpenChange, changes: SetChanges): ViewFailure | undefined {
    const fault = changeRows(rows.table, open.transaction, changes);
    if (fault !== undefined) {
      const [holder] = rows.holders;
      const view = present(holder && this.#program.views.get(holder.viewId), 'view of the rows');
      return invalidRows(view, fault, this.#options).failure;
    }
    open.evaluated.set(rows.table.id, { rows, changes });
    return undefined;
  }

  /** Takes over what was evaluated; what was followed rests on the same as before. */
  #settle({ instance, rows, reads = instance?.reads, query }: Evaluated): void {
    const growth = rows.growth();
    for (const holder of growth === 0 ? [] : rows.holders) {
      if (holder !== instance) this.#charge(holder, growth);
    }
    if (instance === undefined || reads === undefined) return;
    this.#dependents.remove(instance, instance.reads);
    this.#dependents.add(instance, reads);
    this.#followed.remove(instance);
    if (query?.form.kind === 'followed') this.#followed.add(instance, query.form.query);
    instance.reads = reads;
    instance.form = query?.form;
    const bytes = instance.rows.bytes + readSetBytes(reads) + this.#followed.bytesOf(instance);
    this.#charge(instance, bytes - instance.bytes);
  }

  #charge(instance: ViewInstance, bytes: number): void {
    this.#bytes += bytes;
    if (instance.holdCount > 0) this.#heldBytes += bytes;
    instance.bytes += bytes;
  }

  #instanceOf(viewId: ViewId, caller: CallerIdentity): ViewInstance | undefined {
    const view = this.#program.views.get(viewId);
    if (view === undefined) return undefined;
    return this.#instances.get(instanceKey(viewId, view.isAnonymous ? undefined : caller));
  }

  #dropIdle(nowMicros: bigint): void {
    for (const instance of this.#unheld.values()) {
      if (nowMicros - instance.usedMicros < idleMicrosMax) return;
      this.#drop(instance);
    }
  }

  /** Drops the least recently used instances; keeps the last `wantedCount`. */
  #keepWithin(wantedCount: number): void {
    const { instancesMax = limits.viewInstancesMax, bytesMax = limits.viewBytesMax } =
      this.#options;
    for (const instance of this.#unheld.values()) {
      const isWithin = this.#instances.size <= instancesMax && this.#bytes <= bytesMax;
      if (isWithin || this.#unheld.size <= wantedCount) return;
      this.#drop(instance);
    }
  }

  #drop(instance: ViewInstance): void {
    if (!this.#instances.delete(instance.key)) return;
    this.#unheld.delete(instance.key);
    if (instance.holdCount > 0) this.#heldBytes -= instance.bytes;
    this.#dependents.remove(instance, instance.reads);
    this.#followed.remove(instance);
    instance.rows.holders.delete(instance);
    this.#bytes -= instance.bytes;
  }
}

/** Rows that the open transaction has changed or confirmed. */
interface Evaluated {
  readonly rows: ResultRows;
  /** Whose view was called; `undefined`: none was, they followed `changes`. */
  readonly instance?: ViewInstance;
  /** What its rows rest on now, and the query that was returned. */
  readonly reads?: ReadSet;
  readonly query?: ReturnedQuery | undefined;
  readonly changes?: SetChanges;
}

/** Has the instances dropped, because they fail and the transaction cannot. */
function giveUp(
  { failed, lost }: OpenChange,
  instances: Iterable<ViewInstance>,
  failure: ViewFailure,
): void {
  for (const instance of instances) {
    failed.push(instance);
    const { viewId, sender, holdCount } = instance;
    if (holdCount > 0) lost.push({ viewId, sender, failure });
  }
}

/**
 * The changes of instances: the same lists for those that share rows, or that have changed by the
 * same, so that they are looked at once.
 */
function viewChangesOf(
  tables: readonly TableChange[],
  evaluated: OpenChange['evaluated'],
): readonly ViewChange[] {
  const shared = new Map<SetChanges, TableChange>();
  const changes: ViewChange[] = [];
  for (const change of tables) {
    const known = evaluated.get(change.tableId);
    if (known === undefined) continue;
    const first = known.changes && shared.get(known.changes);
    if (known.changes !== undefined && first === undefined) shared.set(known.changes, change);
    const { inserts, deletes } = first !== undefined && isSame(first, change) ? first : change;
    for (const { viewId, sender, source } of known.rows.holders) {
      changes.push({ viewId, sender, source, inserts, deletes });
    }
  }
  return changes;
}

function isSame(one: TableChange, other: TableChange): boolean {
  return (
    sameBytes(one.inserts.bytes, other.inserts.bytes) &&
    sameBytes(one.deletes.bytes, other.deletes.bytes)
  );
}

/** A read set that includes the tables of a query. */
function withTables(reads: ReadSet, query: ReturnedQuery | undefined): ReadSet {
  if (query === undefined) return reads;
  return { tables: new Set([...reads.tables, ...query.tables]), keys: reads.keys };
}

interface OpenChange {
  readonly transaction: Transaction;
  /** The program to switch to. */
  readonly program: ViewProgram | undefined;
  /** By the id of their table. */
  readonly evaluated: Map<number, Evaluated>;
  /** Instances to drop. */
  readonly failed: ViewInstance[];
  readonly lost: LostInstance[];
}

const computedRows: SetForm = { kind: 'rerun', reason: 'its code computes the rows' };
const noChanges: readonly ViewChange[] = [];
const noneLost: readonly LostInstance[] = [];
const idleMicrosMax = BigInt(limits.viewIdleMillisMax) * 1_000n;
