import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { ReadSet } from '../../module/read-set.ts';
import { tableId, type ViewId } from '../../schema/ids.ts';
import { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { Progress } from '../progress.ts';
import { Dependents } from './dependents.ts';
import { evaluateView, invalidRows, type ViewSurroundings } from './evaluate-view.ts';
import type { ServedView, ViewProgram } from './served-views.ts';
import type { ViewFailure } from './view-failure.ts';
import {
  instanceBytes,
  instanceKey,
  type LostInstance,
  newInstance,
  type ViewChange,
  type ViewInstance,
} from './view-instance.ts';
import { replaceRows } from './view-rows.ts';

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

  /** Instances that were held and have been dropped since the last call. */
  takeLost(): readonly LostInstance[] {
    if (this.#lost.length === 0) return noneLost;
    const lost = this.#lost;
    this.#lost = [];
    return lost;
  }

  /** The rows of a view for a caller, who has had it prepared. */
  table(viewId: ViewId, caller: CallerIdentity): Table {
    return present(this.#instanceOf(viewId, caller), `instance of the view ${viewId}`).table;
  }

  /** Whether the caller's instance of a view exists. */
  has(viewId: ViewId, caller: CallerIdentity): boolean {
    return this.#instanceOf(viewId, caller) !== undefined;
  }

  /**
   * Re-evaluates every instance that depends on the changes of the open transaction so far.
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
    if (affected.size === 0) return undefined;
    const open = this.#begin(undefined);
    for (const instance of affected) {
      const failure = this.#evaluate(instance, open, this.#program);
      if (failure === undefined) continue;
      if (!mustSucceed) return failure;
      open.failed.push(instance);
      if (instance.holdCount > 0) {
        open.lost.push({ viewId: instance.viewId, sender: instance.sender, failure });
      }
    }
    return undefined;
  }

  /**
   * Switches to another program, for whose tables the store is ready. Its code may have changed any
   * result, so every instance whose view still exists, with the same id, is evaluated again; the
   * others are dropped, and with `dropsAll` so are all. `commit` or `rollback` follows. Returns why
   * a view failed.
   */
  replaceProgram(program: ViewProgram, dropsAll: boolean): ViewFailure | undefined {
    assert(this.#open === undefined, 'one transaction at a time');
    const open = this.#begin(program);
    for (const instance of this.#instances.values()) {
      if (dropsAll || !program.views.has(instance.viewId)) {
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
    }
    for (const { instance, reads } of open.evaluated.values()) this.#settle(instance, reads);
    for (const instance of open.failed) this.#drop(instance);
    this.#lost.push(...open.lost);
    return (changes?.tables ?? []).flatMap(({ tableId, inserts, deletes }) => {
      const evaluated = open.evaluated.get(tableId);
      if (evaluated === undefined) return [];
      const { viewId, sender } = evaluated.instance;
      return [{ viewId, sender, inserts, deletes }];
    });
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
    this.#rows.adopt(instance.table);
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

  /** Its rows exist until `refresh` or `rollback`, and its dependencies are known. */
  #try(instance: ViewInstance, open: OpenChange): void {
    const evaluated = present(open.evaluated.get(instance.number), 'a view that was evaluated');
    this.#settle(instance, evaluated.reads);
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
    const fault = replaceRows(instance.table, open.transaction, evaluation);
    if (fault !== undefined) return invalidRows(view, fault, this.#options).failure;
    open.evaluated.set(instance.number, { instance, reads: evaluation.reads });
    return undefined;
  }

  #settle(instance: ViewInstance, reads: ReadSet): void {
    this.#dependents.remove(instance, instance.reads);
    this.#dependents.add(instance, reads);
    instance.reads = reads;
    const bytes = instanceBytes(instance);
    this.#bytes += bytes - instance.bytes;
    if (instance.holdCount > 0) this.#heldBytes += bytes - instance.bytes;
    instance.bytes = bytes;
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
    this.#bytes -= instance.bytes;
  }
}

interface OpenChange {
  readonly transaction: Transaction;
  /** The program to switch to. */
  readonly program: ViewProgram | undefined;
  /** By the instance's number. */
  readonly evaluated: Map<number, { readonly instance: ViewInstance; readonly reads: ReadSet }>;
  /** Instances to drop. */
  readonly failed: ViewInstance[];
  readonly lost: LostInstance[];
}

const noChanges: readonly ViewChange[] = [];
const noneLost: readonly LostInstance[] = [];
const idleMicrosMax = BigInt(limits.viewIdleMillisMax) * 1_000n;
