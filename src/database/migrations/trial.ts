import { limits } from '../../limits.ts';
import type { MigratedRows } from '../../module/migration-call.ts';
import type { DeclaredPlan, PlannedStage } from '../../schema/declared-plan.ts';
import type { MigrationStep } from '../../schema/migration-steps.ts';
import type { PlannedTable } from '../../schema/planned-table.ts';
import { ConflictError, type Migration, MigrationError } from '../../store/migrate.ts';
import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import { brokenClients } from '../broken-clients.ts';
import type { BrokenParts } from '../broken-parts.ts';
import type { DatabaseCore } from '../core.ts';
import type { TrialAssertion, TrialReport, TrialSample, TrialTable } from '../trial-report.ts';
import type { TriedUpdate } from '../update-program.ts';
import { neededBytes } from './migration-run.ts';
import type { Workshop } from './workshop.ts';

/** Notes what a migration does that is thrown away. */
export class Trial {
  readonly #core: DatabaseCore;
  readonly #plan: DeclaredPlan | undefined;
  readonly #broken: BrokenParts;
  /** What a plan without declared steps has come to. */
  readonly #plain: PlainTrial | undefined;
  readonly #startedAt: number;
  readonly #before: ReadonlyMap<string, number>;
  readonly #memoryBytes: number;
  readonly #samples = new Map<string, TrialSample[]>();
  readonly #assertions: TrialAssertion[] = [];

  /** `store`: the tables that it begins with. */
  constructor(core: DatabaseCore, { plan, broken, made }: TriedUpdate, store = core.store) {
    this.#core = core;
    const declared = plan.kind === 'declared' ? plan : undefined;
    this.#plan = declared;
    this.#plain = plan.kind === 'automatic' ? { steps: plan.steps, made } : undefined;
    this.#broken = broken;
    this.#startedAt = core.clock.monotonicMillis();
    this.#before = rowCounts(store);
    this.#memoryBytes = declared === undefined ? 0 : neededBytes(store, declared);
  }

  /** What a row of a table gave; false if no more are wanted of that table. */
  wants(table: string): boolean {
    return (this.#samples.get(table)?.length ?? 0) < limits.trialSamplesMax;
  }

  sampled(table: string, before: Uint8Array, gave: ReadonlyMap<string, MigratedRows>): void {
    const after = [...gave]
      .filter(([, { count }]) => count > 0)
      .map(([name, { rows }]) => ({ table: name, row: rows.slice() }));
    const samples = this.#samples.get(table) ?? [];
    samples.push({ before: before.slice(), after });
    this.#samples.set(table, samples);
  }

  asserted(migration: string, text: string, holds: boolean): void {
    this.#assertions.push({ migration, text, holds });
  }

  /** `workshop`: the tables that were made; `failure`: why there are none. */
  report(
    { workshop, failure }: { readonly workshop?: Workshop; readonly failure?: Error },
    isOnline: boolean,
  ): TrialReport {
    const plain = this.#plain;
    if (plain !== undefined) return this.#plainReport(plain);
    const after = workshop === undefined ? undefined : rowCounts(workshop.store);
    const refuted = this.#assertions.find(({ holds }) => !holds);
    const refutedText =
      refuted && `Migration ${refuted.migration}, assert: it does not hold: ${refuted.text}`;
    return {
      tables: this.#tables(after),
      sampledTo: sampledTo(this.#plan?.stages[0]),
      conflicts: failure instanceof ConflictError ? failure.conflicts : [],
      assertions: this.#assertions,
      failure: failure?.message ?? refutedText,
      clients: brokenClients(this.#core, this.#broken).length,
      memoryBytes: this.#memoryBytes,
      millis: this.#core.clock.monotonicMillis() - this.#startedAt,
      isOnline,
      back: undefined,
    };
  }

  #plainReport({ steps, made }: PlainTrial): TrialReport {
    const failure = made instanceof MigrationError ? made : undefined;
    const next = made instanceof MigrationError ? undefined : made;
    const tables = steps.flatMap((step) => plainTable(this.#core.store, step, next) ?? []);
    const added = steps.flatMap((step) => (step.kind === 'addColumns' ? step.table : []));
    const rewritten = added.map((name) => next?.tableByName(name)?.heap.usedBytes ?? 0);
    return {
      tables,
      sampledTo: -1,
      conflicts: failure instanceof ConflictError ? failure.conflicts : [],
      assertions: [],
      failure: failure?.message,
      clients: brokenClients(this.#core, this.#broken).length,
      memoryBytes: rewritten.reduce((sum, bytes) => sum + bytes, 0),
      millis: this.#core.clock.monotonicMillis() - this.#startedAt,
      isOnline: false,
      back: undefined,
    };
  }

  #tables(after: ReadonlyMap<string, number> | undefined): TrialTable[] {
    const tables = new Map<string, TrialTable>();
    const add = (before: string | undefined, name: string | undefined): void => {
      tables.set(before ?? name ?? '', {
        before,
        after: name,
        rowsBefore: before === undefined ? 0 : (this.#before.get(before) ?? 0),
        rowsAfter: name === undefined ? 0 : after && (after.get(name) ?? 0),
        samples: before === undefined ? [] : (this.#samples.get(before) ?? []),
      });
    };
    const stages = this.#plan?.stages ?? [];
    // Tables of stages in between are of no interest.
    for (const planned of stages[0]?.tables ?? []) {
      const last = stages.slice(1).reduce<PlannedTable | undefined>((table, stage) => {
        const name = table === undefined ? undefined : afterOf(table);
        return stage.tables.find(({ before }) => before === name);
      }, planned);
      const name = last === undefined ? undefined : afterOf(last);
      if (planned.kind !== 'keep' || last?.kind !== 'keep' || planned.before !== name) {
        add(planned.before, name);
      }
    }
    const known = new Set([...tables.values()].map((table) => table.after));
    for (const name of after?.keys() ?? []) {
      if (!known.has(name) && !this.#before.has(name)) add(undefined, name);
    }
    return [...tables].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, table]) => table);
  }
}

/** On the way back, rows come to be those from before a migration. */
function sampledTo(stage: PlannedStage | undefined): number {
  if (stage === undefined) return -1;
  return stage.direction === 'down' ? stage.first - 1 : stage.last;
}

interface PlainTrial {
  readonly steps: readonly MigrationStep[];
  readonly made: TriedUpdate['made'];
}

/** What one step of an automatic plan does to a table; `undefined`: its rows stay. */
function plainTable(
  store: Store,
  step: MigrationStep,
  next: Migration | undefined,
): TrialTable | undefined {
  switch (step.kind) {
    case 'addTable': {
      const rows = { rowsBefore: 0, rowsAfter: 0, samples: [] };
      return { before: undefined, after: step.table.name, ...rows };
    }
    case 'removeTable': {
      const rowsBefore = store.tableByName(step.table)?.rowCount ?? 0;
      const rowsAfter = next && 0;
      return { before: step.table, after: undefined, rowsBefore, rowsAfter, samples: [] };
    }
    case 'addColumns': {
      const old = store.tableByName(step.table);
      const table = next?.tableByName(step.table);
      const rowsBefore = old?.rowCount ?? 0;
      const samples = old === undefined || table === undefined ? [] : firstRows(old, table);
      const rows = { rowsBefore, rowsAfter: table?.rowCount, samples };
      return { before: step.table, after: step.table, ...rows };
    }
    default:
      return undefined;
  }
}

/** The first rows of two tables that have the same rows in the same order. */
function firstRows(old: Table, next: Table): TrialSample[] {
  const samples: TrialSample[] = [];
  let [one, other] = [old.nextRow(noRow), next.nextRow(noRow)];
  while (one !== noRow && other !== noRow && samples.length < limits.trialSamplesMax) {
    const after = [{ table: next.spec.name, row: rowAt(next, other) }];
    samples.push({ before: rowAt(old, one), after });
    [one, other] = [old.nextRow(one), next.nextRow(other)];
  }
  return samples;
}

function rowAt(table: Table, ref: RowRef): Uint8Array {
  const start = table.offsetOf(ref);
  return table.pageOf(ref).slice(start, start + table.lengthOf(ref));
}

function afterOf(table: PlannedTable): string | undefined {
  return table.kind === 'keep' || table.kind === 'rewrite' ? table.after : undefined;
}

function rowCounts(store: Store): Map<string, number> {
  const user = [...store.tables].filter(({ spec }) => spec.kind === 'user');
  return new Map(user.map(({ spec, rowCount }) => [spec.name, rowCount]));
}
