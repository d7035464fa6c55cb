import { assert, present } from '../assert.ts';
import type { QueryBudget } from '../sql/budget.ts';
import { conjunction, conjunctsOf } from '../sql/check/conjuncts.ts';
import type { OrderKey, TypedExpression, TypedQuery, TypedRead } from '../sql/check/typed.ts';
import type { QueryValue } from '../sql/functions/function.ts';
import { encodeQueryValue } from '../sql/functions/value-codec.ts';
import type { ReadPlan } from '../sql/plan/plan.ts';
import { planReads } from '../sql/planning.ts';
import type { Rights } from '../sql/rights.ts';
import { compileRead, eachRow } from '../sql/run/execution.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { FragmentScope } from './fragment.ts';
import { Groups } from './groups.ts';
import type { IncrementalShape, WindowShape } from './incremental-shape.ts';
import { emptyRowSet, type RowSet } from './row-set.ts';
import type { SourceChanges } from './source-changes.ts';
import { type RowFeed, Window } from './window.ts';

/** What a read of whole tables can use. */
export interface WholeRead {
  readonly tables: SqlTables;
  readonly budget: QueryBudget;
}

/** Receives the bytes kept so far; throws `SqlFailure` if that is too much. */
export type Keep = (bytes: number) => void;

/** Reads again what was read before: counted and bounded. Throws `SqlFailure`. */
export type Reread = <Result>(read: (whole: WholeRead) => Result) => Result;

type StagesScope = Pick<FragmentScope, 'schema' | 'parameters'>;

/** What keeps rows, so that changes of fragments become a change of the answer. */
export interface Stages {
  /** Approximate memory. */
  readonly bytes: number;
  /** Reads what the fragments read as it is; called once. Throws `SqlFailure`. */
  open(whole: WholeRead, keep: Keep): void;
  /** The changes are those that one commit made to the fragments. Throws `SqlFailure`. */
  apply(changes: readonly SourceChanges[], reread: Reread): SourceChanges;
  /** The answer. */
  rows(): RowSet;
}

/**
 * Groups, a window, or a window over groups: the state kept of the base rows, so that a change of
 * the base becomes a change of the answer.
 */
export class KeptStages implements Stages {
  readonly #base: TypedRead;
  readonly #shape: WindowShape | undefined;
  readonly #scope: StagesScope;
  readonly #rights: Rights;
  readonly #groups: Groups | undefined;
  readonly #window: Window | undefined;

  constructor({ base, groups, window }: IncrementalShape, scope: StagesScope, rights: Rights) {
    const { schema, parameters } = scope;
    this.#base = base;
    this.#shape = window;
    this.#scope = scope;
    this.#rights = rights;
    this.#groups = groups && new Groups(groups, schema, parameters);
    this.#window = window && new Window(window, schema.types);
  }

  /** Approximate memory. */
  get bytes(): number {
    return (this.#groups?.bytes ?? 0) + (this.#window?.bytes ?? 0);
  }

  /** Reads the base as it is; called once. */
  open(whole: WholeRead, keep: Keep): void {
    const groups = this.#groups;
    if (groups === undefined) {
      this.#fillWindow(whole, keep);
    } else {
      this.#feedOf(whole)((bytes, start) => {
        groups.add(bytes, start);
        keep(groups.bytes);
        return true;
      });
      groups.takeChanges();
      this.#window?.fill(groups.feed, { isOrdered: false, keep });
    }
    this.#window?.takeChanges();
  }

  /** Turns the change of the base into that of the answer. Throws `SqlFailure`. */
  apply([change = noChange]: readonly SourceChanges[], reread: Reread): SourceChanges {
    const groups = this.#groups;
    const window = this.#window;
    let changes = change;
    if (groups !== undefined) {
      groups.apply(changes);
      if (groups.isShort) reread((whole) => this.#refill(groups, whole));
      changes = groups.takeChanges();
    }
    if (window === undefined) return changes;
    window.apply(changes);
    if (window.isShort) {
      if (groups === undefined) reread((whole) => this.#fillWindow(whole, keepAll));
      else window.fill(groups.feed, { isOrdered: false, keep: keepAll });
    }
    return window.takeChanges();
  }

  /** The answer. */
  rows(): RowSet {
    return present(this.#window ?? this.#groups, 'what is kept').rows();
  }

  /** The rows of a single short group are found by its keys. */
  #refill(groups: Groups, whole: WholeRead): void {
    const { body } = this.#base.query;
    const keys = groups.shortKeys;
    const items = body.kind === 'block' ? body.items : [];
    const conditions = keys?.map((key, at) => equalityOf(present(items[at], 'a key'), key)) ?? [];
    const known = conditions.filter((condition) => condition !== undefined);
    groups.refill(this.#feedOf(whole, this.#plan(whole, [], known)));
  }

  /** With an index in that order, not all rows need to be read. */
  #fillWindow(whole: WholeRead, keep: Keep): void {
    const ordered = this.#plan(whole, this.#order());
    const isOrdered = ordered.rows.kind === 'project';
    const feed = this.#feedOf(whole, isOrdered ? ordered : undefined);
    this.#window?.fill(feed, { isOrdered, keep });
  }

  #feedOf(whole: WholeRead, plan: ReadPlan = this.#plan(whole, [])): RowFeed {
    const { tables, budget } = whole;
    const { schema, parameters } = this.#scope;
    const compiled = compileRead(plan, schema.types);
    const request = { tables, budget, parameters, nowMicros: 0n };
    return (visit) => eachRow(compiled, request, (bytes, length) => visit(bytes, 0, length));
  }

  #plan(
    { tables }: WholeRead,
    order: readonly OrderKey[],
    conditions: readonly TypedExpression[] = [],
  ): ReadPlan {
    const { schema } = this.#scope;
    const { body } = this.#base.query;
    assert(body.kind === 'block', 'a base is one block');
    const where = conjunction([...conjunctsOf(body.where), ...conditions]);
    const query: TypedQuery = { ...this.#base.query, body: { ...body, where }, order };
    const scope = { schema: schema.sql, rights: this.#rights, tables };
    const [plan] = planReads([{ ...this.#base, query }], schema.types, scope);
    return present(plan, 'the plan of a read');
  }

  #order(): readonly OrderKey[] {
    const { body } = this.#base.query;
    const { order, shownCount } = present(this.#shape, 'a window');
    const items = body.kind === 'block' ? body.items : [];
    return order.map(({ isDescending, isNullsFirst }, at) => {
      const expression = present(items[shownCount + at], 'what the window is ordered by');
      return { key: { kind: 'expression', expression }, isDescending, isNullsFirst };
    });
  }
}

const noChange: SourceChanges = { inserts: emptyRowSet, deletes: emptyRowSet };

/** A window is refilled with about as much as it had. */
const keepAll: Keep = () => undefined;

/** Returns `undefined` if the value cannot be searched for. */
function equalityOf(key: TypedExpression, value: QueryValue): TypedExpression | undefined {
  const { type } = key;
  if (value === null || value instanceof Uint8Array) return undefined;
  const bytes = encodeQueryValue(type, value);
  return {
    kind: 'comparison',
    operator: '=',
    left: key,
    right: { kind: 'constant', type, isNullable: false, bytes },
    type: { kind: 'bool' },
    isNullable: key.isNullable,
  };
}
