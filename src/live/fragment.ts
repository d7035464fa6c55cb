import { assert, present } from '../assert.ts';
import type { TableSpec } from '../schema/catalog.ts';
import { boundOf, givenBytes, isGiven } from '../sql/check/conjuncts.ts';
import type { TypedColumn, TypedExpression, TypedQuery, TypedRead } from '../sql/check/typed.ts';
import { needsOf, visitExpression } from '../sql/check/typed-expression.ts';
import type { Frame, Test } from '../sql/expressions/frame.ts';
import type { RowCompiler, RowMaker } from '../sql/expressions/row-compiler.ts';
import { hasFloats } from '../sql/functions/canonical.ts';
import type { RowShape } from '../store/row-shape.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { CallerJoin } from './caller-join.ts';
import { compilerOf, conjunctsOfBlock, pairOf, wholeSlotOf } from './fragment-parts.ts';
import { compileProbe, type JoinProbe } from './join-probe.ts';
import type { LiveSchema } from './live-schema.ts';
import { numberReaderOf } from './number-reader.ts';
import type { SourceKey } from './source-changes.ts';
import { watchKeyOf } from './watch-key.ts';

/** Everything in a compiled query that depends on its caller. */
export interface FragmentScope {
  readonly schema: LiveSchema;
  readonly identity: CallerIdentity;
  /** Encoded values of the parameters of the typed read. */
  readonly parameters: readonly (Uint8Array | undefined)[];
  /** What the fragments of all callers share, if it is such a join. */
  readonly callerJoin: CallerJoin | undefined;
}

/** One relation of a fragment. */
export interface FragmentRelation {
  readonly source: SourceKey;
  readonly table: TableSpec;
  readonly shape: RowShape;
  /** The conditions on this row alone. */
  readonly test: Test | undefined;
  /** How changed rows find the fragment; `undefined`: it examines all of them. */
  readonly watch: WatchedValue | WatchedRange | undefined;
}

/** All rows that concern the fragment have the same value in the column. */
export interface WatchedValue {
  readonly kind: 'value';
  readonly column: number;
  readonly key: number | string;
}

/** All rows that concern the fragment have the column within these bounds, both included. */
export interface WatchedRange {
  readonly kind: 'range';
  readonly column: number;
  readonly low: number;
  readonly high: number;
}

/** A relation of a fragment that can change its result. */
export interface Watcher {
  readonly fragment: LiveFragment;
  readonly relation: FragmentRelation;
  /** Position of the relation, which is also its slot. */
  readonly side: number;
}

/** The caller of a fragment whose other relation has rows of callers. */
export interface FragmentCaller {
  readonly join: CallerJoin;
  /** What the caller has in the column. */
  readonly bytes: Uint8Array;
}

/** How the two relations of a fragment are joined. */
export interface FragmentJoin {
  /** By side: how to find its rows that match a row of the other side. */
  readonly probes: readonly [JoinProbe, JoinProbe];
  /** Conditions on both rows, including the equality that joins them. */
  readonly test: Test;
}

/** The output for the rows of the relations: the whole row of one, or a computed row. */
export type FragmentOutput =
  | { readonly kind: 'row'; readonly slot: number }
  | { readonly kind: 'computed'; readonly rowOf: RowMaker };

/** A block over one relation or two joined relations, compiled for one caller. */
export class LiveFragment {
  readonly relations: readonly FragmentRelation[];
  readonly join: FragmentJoin | undefined;
  readonly output: FragmentOutput;
  readonly parameters: readonly (Uint8Array | undefined)[];
  readonly watchers: readonly Watcher[];
  /** How the changed rows of the one relation without a watcher find the fragment. */
  readonly caller: FragmentCaller | undefined;
  /** Approximate memory. */
  readonly bytes: number;

  constructor(read: TypedRead, scope: FragmentScope) {
    const { schema, identity, parameters } = scope;
    const { body } = read.query;
    assert(body.kind === 'block', 'a fragment is one block');
    const tables = body.relations.map(({ source, slot }, at) => {
      assert(slot === at && source.kind === 'table', 'a fragment is about plain tables');
      return source.table;
    });
    const compiler = compilerOf(tables, schema);
    const conjuncts = conjunctsOfBlock(body);
    const conditions = new Conditions(conjuncts, scope, compiler);
    this.parameters = parameters;
    this.output = outputOf(read.query, tables, compiler);
    const pair = conjuncts.map(pairOf).find((columns) => columns !== undefined);
    this.relations = tables.map(
      (table, slot): FragmentRelation => ({
        table,
        shape: schema.layoutOf(table).shape,
        source: schema.sourceOf(table.id, identity),
        test: conditions.testOf(slot),
        watch: conditions.valueOf(slot, table, pair) ?? conditions.rangeOf(slot),
      }),
    );
    this.join = tables.length < 2 ? undefined : joinOf(pair, tables, conditions, compiler);
    const isWatched = !conditions.isNever && !this.#isOfPassingRows();
    const { callerJoin } = scope;
    const watchers = this.relations.map((relation, side) => ({ fragment: this, relation, side }));
    this.watchers = isWatched ? watchers.filter(({ side }) => side !== callerJoin?.side) : [];
    this.caller = isWatched && callerJoin !== undefined ? callerOf(callerJoin, scope) : undefined;
    this.bytes = bytesOf(conjuncts, tables.length);
  }

  /** Whether the output is rows of an event table. */
  get isEvent(): boolean {
    const { output } = this;
    return output.kind === 'row' && this.relations[output.slot]?.table.isEvent === true;
  }

  /**
   * Rows of an event table exist only within their transaction, so between transactions nothing is
   * joined with them: such a result never changes.
   */
  #isOfPassingRows(): boolean {
    return !this.isEvent && this.relations.some(({ table }) => table.isEvent);
  }
}

/** The conditions that must hold, grouped by the relations that they refer to. */
class Conditions {
  readonly #conjuncts: readonly TypedExpression[];
  readonly #scope: FragmentScope;
  readonly #compiler: RowCompiler;
  /** Whether a condition that refers to no row does not hold. */
  readonly isNever: boolean;

  constructor(conjuncts: readonly TypedExpression[], scope: FragmentScope, compiler: RowCompiler) {
    this.#conjuncts = conjuncts;
    this.#scope = scope;
    this.#compiler = compiler;
    const fixed = compiler.conditions(this.#about([]));
    this.isNever = fixed !== undefined && !fixed(frameOf(scope.parameters));
  }

  testOf(slot: number): Test | undefined {
    return this.#compiler.conditions(this.#about([slot]));
  }

  testOfBoth(): Test {
    return present(this.#compiler.conditions(this.#about([0, 1])), 'the join of two');
  }

  /** The columns of one relation that conditions fix to a value. */
  fixedColumns(slot: number): Map<number, TypedExpression> {
    const fixed = new Map<number, TypedExpression>();
    for (const conjunct of this.#about([slot])) {
      const bound = boundOf(conjunct, slot);
      if (bound?.operator !== '=' || !isGiven(bound.value)) continue;
      if (!fixed.has(bound.column)) fixed.set(bound.column, bound.value);
    }
    return fixed;
  }

  /** The value by which changed rows find the fragment; an indexed column is the most selective. */
  valueOf(
    slot: number,
    table: TableSpec,
    pair: readonly TypedColumn[] | undefined,
  ): WatchedValue | undefined {
    const fixed = this.fixedColumns(slot);
    const own = pair?.find((column) => column.slot === slot);
    const other = pair?.find((column) => column.slot !== slot);
    if (own !== undefined && other !== undefined && !fixed.has(own.column)) {
      // What fixes one side of an equality fixes the other.
      const value = this.fixedColumns(other.slot).get(other.column);
      if (value !== undefined) fixed.set(own.column, value);
    }
    const { types } = this.#compiler;
    let best: WatchedValue | undefined;
    let bestRank = -1;
    for (const [column, value] of fixed) {
      const bytes = this.#bytesOf(value);
      // Equal floats can differ in their bytes.
      if (bytes === undefined || hasFloats(value.type, types)) continue;
      const rank = rankOf(column, table);
      if (rank <= bestRank) continue;
      best = { kind: 'value', column, key: watchKeyOf(bytes, 0, bytes.length) };
      bestRank = rank;
    }
    return best;
  }

  /** Bounds on one column of whole numbers; a column with both bounds is preferred. */
  rangeOf(slot: number): WatchedRange | undefined {
    const ranges = new Map<number, WatchedRange>();
    for (const conjunct of this.#about([slot])) {
      const bound = boundOf(conjunct, slot);
      if (bound === undefined || bound.operator === '<>') continue;
      const read = numberReaderOf(bound.value.type);
      const bytes = this.#bytesOf(bound.value);
      if (read === undefined || bytes === undefined) continue;
      const { column, operator } = bound;
      const value = read(bytes, 0);
      // Beyond this, the next number may be rounded to the same one.
      const isExact = Math.abs(value) < Number.MAX_SAFE_INTEGER;
      const step = isExact && operator.length === 1 && operator !== '=' ? 1 : 0;
      let { low, high } = ranges.get(column) ?? everything;
      if (!operator.startsWith('<')) low = Math.max(low, value + step);
      if (!operator.startsWith('>')) high = Math.min(high, value - step);
      ranges.set(column, { kind: 'range', column, low, high });
    }
    const found = [...ranges.values()];
    return found.find(({ low, high }) => high - low < Number.POSITIVE_INFINITY) ?? found[0];
  }

  #bytesOf(value: TypedExpression): Uint8Array | undefined {
    return isGiven(value) ? givenBytes(value, this.#scope.parameters) : undefined;
  }

  #about(slots: readonly number[]): TypedExpression[] {
    return this.#conjuncts.filter((conjunct) => {
      const needs = needsOf(conjunct).slots;
      return needs.size === slots.length && slots.every((slot) => needs.has(slot));
    });
  }
}

const everything = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };

/** Prefers columns that identify a row; columns with at most two values come last. */
function rankOf(column: number, table: TableSpec): number {
  if (table.columns[column]?.type.kind === 'bool') return 0;
  const indexes = table.indexes.filter(({ columns }) => columns[0] === column);
  if (indexes.length === 0) return 1;
  return indexes.some(({ isUnique, columns }) => isUnique && columns.length === 1) ? 3 : 2;
}

function callerOf(join: CallerJoin, { parameters }: FragmentScope): FragmentCaller {
  return { join, bytes: present(givenBytes(join.value, parameters), 'what a caller has') };
}

function joinOf(
  pair: readonly TypedColumn[] | undefined,
  tables: readonly TableSpec[],
  conditions: Conditions,
  compiler: RowCompiler,
): FragmentJoin {
  const probe = (slot: number): JoinProbe => {
    const columns = present(pair, 'columns that join');
    const own = present(
      columns.find((column) => column.slot === slot),
      'a column of each side',
    );
    const other = present(
      columns.find((column) => column.slot !== slot),
      'a column of each side',
    );
    const table = present(tables[slot], 'table of a slot');
    return compileProbe({ table, own, other, fixed: conditions.fixedColumns(slot), compiler });
  };
  return { probes: [probe(0), probe(1)], test: conditions.testOfBoth() };
}

function outputOf(
  query: TypedQuery,
  tables: readonly TableSpec[],
  compiler: RowCompiler,
): FragmentOutput {
  const { body, columns } = query;
  assert(body.kind === 'block', 'a fragment is one block');
  const slot = wholeSlotOf({ ...query, body }, tables);
  if (slot !== undefined) return { kind: 'row', slot };
  return { kind: 'computed', rowOf: compiler.row(body.items, columns) };
}

/** Measured on Node 20: a compiled comparison, a relation with its watcher, two probes. */
const comparisonBytes = 650;
const relationBytes = 600;
const joinBytes = 1_000;

function bytesOf(conjuncts: readonly TypedExpression[], relationCount: number): number {
  let leafCount = 0;
  for (const conjunct of conjuncts) {
    visitExpression(conjunct, ({ kind }) => {
      if (kind === 'comparison') leafCount += 1;
    });
  }
  const joined = relationCount > 1 ? joinBytes : 0;
  return comparisonBytes * leafCount + relationBytes * relationCount + joined;
}

/** Holds the current rows while one fragment after another is evaluated. */
export interface LiveFrame extends Frame {
  parameters: readonly (Uint8Array | undefined)[];
}

export function frameOf(parameters: readonly (Uint8Array | undefined)[]): LiveFrame {
  return { pages: [undefined, undefined], rows: [0, 0], values: [], parameters, nowMicros: 0n };
}
