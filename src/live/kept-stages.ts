import type { OrderKey, TypedExpression, TypedQuery, TypedRead } from '../sql/check/typed.ts';
import type { ReadPlan } from '../sql/plan/plan.ts';
import { planStatement } from '../sql/plan/plan-statement.ts';
import { planningStatistics } from '../sql/planning-statistics.ts';
import type { Rights } from '../sql/rights.ts';
import type { QueryBudget } from '../sql/run/budget.ts';
import { eachRow } from '../sql/run/each-row.ts';
import { compileRead } from '../sql/run/execution.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { FragmentScope } from './fragment.ts';
import { Groups } from './groups.ts';
import type { IncrementalShape, WindowShape } from './incremental-shape.ts';
import type { RowSet } from './row-set.ts';
import type { SourceChanges } from './source-changes.ts';
import { type RowFeed, Window } from './window.ts';

/** What reading tables as a whole may use. */
export interface WholeRead {
  readonly tables: SqlTables;
  readonly budget: QueryBudget;
}

/** Reads again what was read before: counted and bounded. Throws `SqlFailure`. */
export type Reread = <Result>(read: (whole: WholeRead) => Result) => Result;

/**
 * Groups, a window, or a window over groups: what is kept of the rows of the base, so that a change
 * of the base becomes a change of the answer.
 */
export class KeptStages {
  readonly #base: TypedRead;
  readonly #shape: WindowShape | undefined;
  readonly #scope: FragmentScope;
  readonly #rights: Rights;
  readonly #groups: Groups | undefined;
  readonly #window: Window | undefined;

  constructor({ base, groups, window }: IncrementalShape, scope: FragmentScope, rights: Rights) {
    const { schema, parameters } = scope;
    this.#base = base;
    this.#shape = window;
    this.#scope = scope;
    this.#rights = rights;
    this.#groups = groups && new Groups(groups, schema, parameters);
    this.#window = window && new Window(window, schema.types);
  }

  /** Memory, about. */
  get bytes(): number {
    return (this.#groups?.bytes ?? 0) + (this.#window?.bytes ?? 0);
  }

  /** Takes in the base as it is; once. */
  open(whole: WholeRead): void {
    const groups = this.#groups;
    if (groups === undefined) {
      this.#fillWindow(whole);
    } else {
      let known = 0;
      this.#feedOf(whole)((bytes, start) => {
        groups.add(bytes, start);
        if (groups.bytes > known) whole.budget.take(groups.bytes - known);
        known = Math.max(known, groups.bytes);
        return true;
      });
      groups.takeChanges();
      this.#window?.fill(groups.feed, false);
    }
    this.#window?.takeChanges();
  }

  /** What a change of the base changes in the answer. Throws `SqlFailure`. */
  apply(change: SourceChanges, reread: Reread): SourceChanges {
    const groups = this.#groups;
    const window = this.#window;
    let changes = change;
    if (groups !== undefined) {
      groups.apply(changes);
      if (groups.isShort) reread((whole) => groups.refill(this.#feedOf(whole)));
      changes = groups.takeChanges();
    }
    if (window === undefined) return changes;
    window.apply(changes);
    if (window.isShort) {
      if (groups === undefined) reread((whole) => this.#fillWindow(whole));
      else window.fill(groups.feed, false);
    }
    return window.takeChanges();
  }

  /** The answer. */
  rows(): RowSet {
    if (this.#window !== undefined) return this.#window.rows();
    return (this.#groups as Groups).rows();
  }

  /** In the order of an index, if there is one, not all rows need be looked at. */
  #fillWindow(whole: WholeRead): void {
    const ordered = this.#plan(whole, this.#order());
    const isOrdered = ordered.rows.kind === 'project';
    this.#window?.fill(this.#feedOf(whole, isOrdered ? ordered : undefined), isOrdered);
  }

  #feedOf(whole: WholeRead, plan: ReadPlan = this.#plan(whole, [])): RowFeed {
    const { tables, budget } = whole;
    const { schema, parameters } = this.#scope;
    const compiled = compileRead(plan, schema.types);
    const request = { tables, budget, parameters, nowMicros: 0n };
    return (visit) => eachRow(compiled, request, (bytes, length) => visit(bytes, 0, length));
  }

  #plan({ tables }: WholeRead, order: readonly OrderKey[]): ReadPlan {
    const { schema } = this.#scope;
    const query: TypedQuery = { ...this.#base.query, order };
    const statistics = planningStatistics(schema.sql, this.#rights, tables);
    return planStatement({ ...this.#base, query }, { types: schema.types, statistics });
  }

  #order(): readonly OrderKey[] {
    const { body } = this.#base.query;
    const { order, shownCount } = this.#shape as WindowShape;
    const items: readonly TypedExpression[] = body.kind === 'block' ? body.items : [];
    return order.map(({ isDescending, isNullsFirst }, at) => {
      const expression = items[shownCount + at] as TypedExpression;
      return { key: { kind: 'expression', expression }, isDescending, isNullsFirst };
    });
  }
}
