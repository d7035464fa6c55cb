import { limits } from '../../limits.ts';
import type { MigratedRows } from '../../module/migration-call.ts';
import type { DeclaredPlan } from '../../schema/declared-plan.ts';
import type { PlannedTable } from '../../schema/planned-table.ts';
import type { Store } from '../../store/store.ts';
import { brokenClients } from '../broken-clients.ts';
import type { BrokenParts } from '../broken-parts.ts';
import type { DatabaseCore } from '../core.ts';
import type { TrialAssertion, TrialReport, TrialSample, TrialTable } from '../trial-report.ts';
import { MigrationConflictError } from './migration-failure.ts';
import { neededBytes } from './migration-run.ts';
import type { Workshop } from './workshop.ts';

/** Notes what a migration does that is thrown away. */
export class Trial {
  readonly #core: DatabaseCore;
  readonly #plan: DeclaredPlan | undefined;
  readonly #broken: BrokenParts;
  readonly #startedAt: number;
  readonly #before: ReadonlyMap<string, number>;
  readonly #memoryBytes: number;
  readonly #samples = new Map<string, TrialSample[]>();
  readonly #assertions: TrialAssertion[] = [];

  /** `plan`: `undefined` where nothing is declared. */
  constructor(core: DatabaseCore, plan: DeclaredPlan | undefined, broken: BrokenParts) {
    this.#core = core;
    this.#plan = plan;
    this.#broken = broken;
    this.#startedAt = core.clock.monotonicMillis();
    this.#before = rowCounts(core.store);
    this.#memoryBytes = plan === undefined ? 0 : neededBytes(core.store, plan);
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
    const after = workshop === undefined ? undefined : rowCounts(workshop.store);
    const refuted = this.#assertions.find(({ holds }) => !holds);
    const refutedText =
      refuted && `Migration ${refuted.migration}, assert: it does not hold: ${refuted.text}`;
    return {
      tables: this.#tables(after),
      sampledTo: this.#plan?.stages[0]?.last ?? -1,
      conflicts: failure instanceof MigrationConflictError ? failure.conflicts : [],
      assertions: this.#assertions,
      failure: failure?.message ?? refutedText,
      clients: brokenClients(this.#core, this.#broken).length,
      memoryBytes: this.#memoryBytes,
      millis: this.#core.clock.monotonicMillis() - this.#startedAt,
      isOnline,
    };
  }

  #tables(after: ReadonlyMap<string, number> | undefined): TrialTable[] {
    const tables = new Map<string, TrialTable>();
    const add = (before: string | undefined, name: string | undefined): void => {
      tables.set(before ?? name ?? '', {
        before,
        after: name,
        rowsBefore: before === undefined ? 0 : (this.#before.get(before) ?? 0),
        rowsAfter: name === undefined ? 0 : (after?.get(name) ?? 0),
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

function afterOf(table: PlannedTable): string | undefined {
  return table.kind === 'keep' || table.kind === 'rewrite' ? table.after : undefined;
}

function rowCounts(store: Store): Map<string, number> {
  const user = [...store.tables].filter(({ spec }) => spec.kind === 'user');
  return new Map(user.map(({ spec, rowCount }) => [spec.name, rowCount]));
}
