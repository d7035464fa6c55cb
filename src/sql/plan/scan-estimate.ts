import { unreachable } from '../../assert.ts';
import type { TypedExpression } from '../check/typed.ts';
import { type TypedSubquery, visitExpression } from '../check/typed-expression.ts';
import type { HashPlan, ReadPlan, RowsPlan, SourcePlan, TuplesPlan } from './plan.ts';
import { countOf } from './planner.ts';
import type { Statistics } from './statistics.ts';
import { eachExpressionOfRows } from './subquery.ts';

/**
 * How many rows a read is expected to look at, by the rules that define the row limit; at most the
 * largest U64. It bounds the rows looked at, not those returned.
 */
export function estimateScan(plan: ReadPlan, statistics: Statistics): bigint {
  const estimate = new RowEstimate(plan, statistics);
  return saturate(estimate.ofRows(plan.rows).scan + estimate.ofSubqueries(plan.rows));
}

interface Scanned {
  readonly rows: bigint;
  readonly scan: bigint;
}

const u64Max = 2n ** 64n - 1n;
const empty: Scanned = { rows: 0n, scan: 0n };

function saturate(value: bigint): bigint {
  return value > u64Max ? u64Max : value;
}

function times(a: bigint, b: bigint): bigint {
  return saturate(a * b);
}

class RowEstimate {
  readonly #plan: ReadPlan;
  readonly #statistics: Statistics;
  readonly #commonSeen = new Map<number, Scanned>();
  readonly #asked = new Set<TypedSubquery>();

  constructor(plan: ReadPlan, statistics: Statistics) {
    this.#plan = plan;
    this.#statistics = statistics;
  }

  ofRows(plan: RowsPlan): Scanned {
    switch (plan.kind) {
      case 'project':
      case 'sort':
        return this.#ofTuples(plan.input);
      case 'distinct':
      case 'window':
        return this.ofRows(plan.input);
      case 'set': {
        const left = this.ofRows(plan.left);
        const right = this.ofRows(plan.right);
        const rows = saturate(left.rows + right.rows);
        return { rows, scan: saturate(left.scan + right.scan) };
      }
      case 'recursive': {
        const base = this.ofRows(plan.base);
        const step = this.ofRows(plan.step);
        const rows = saturate(base.rows + step.rows);
        return { rows, scan: saturate(base.scan + step.scan) };
      }
      case 'working':
        return { rows: 1n, scan: 0n };
      case 'elements':
        return { rows: BigInt(plan.estimate.rows), scan: 0n };
      case 'limit': {
        const input = this.ofRows(plan.input);
        const limit = countOf(plan.limit);
        if (!Number.isFinite(limit)) return input;
        const rows = BigInt(limit) < input.rows ? BigInt(limit) : input.rows;
        // Only unchanged rows of a table stop being read when there are enough.
        const isPlain = plan.input.kind === 'project' && plan.input.wholeSlot !== undefined;
        return isPlain && isFullScan(plan.input.input) ? { rows, scan: rows } : { ...input, rows };
      }
      case 'count':
        return { rows: 1n, scan: BigInt(this.#statistics.rowCount(plan.table)) };
      default:
        return unreachable(plan);
    }
  }

  /** Subqueries inside expressions: their own scans, once or for each row that evaluates them. */
  ofSubqueries(rows: RowsPlan): bigint {
    let total = 0n;
    const look = (expression: TypedExpression, asked: number): void => {
      visitExpression(expression, (e) => {
        if (e.kind !== 'subquery' || this.#asked.has(e)) return;
        const plan = this.#plan.subqueries.get(e);
        if (plan === undefined) return;
        this.#asked.add(e);
        const { scan } = this.ofRows(plan.rows);
        const count = plan.kind === 'each' ? BigInt(Math.max(1, Math.round(asked))) : 1n;
        total = saturate(total + times(scan, count) + this.ofSubqueries(plan.rows));
      });
    };
    eachExpressionOfRows(rows, look);
    return total;
  }

  #ofTuples(plan: TuplesPlan): Scanned {
    switch (plan.kind) {
      case 'one':
      case 'nothing':
        return empty;
      case 'source':
        return filtered(this.#ofSource(plan), plan.conditions);
      case 'loop': {
        const outer = this.#ofTuples(plan.outer);
        const inner = this.#ofTuples(plan.inner);
        const pairs = times(outer.rows, inner.rows);
        if (!plan.isInnerKept) {
          const isUnique = plan.inner.access.kind === 'point' && plan.inner.access.index.isUnique;
          const rows = isUnique ? outer.rows : pairs;
          return { rows, scan: saturate(outer.scan + rows) };
        }
        const scan = saturate(outer.scan + inner.scan + pairs);
        return filtered({ rows: pairs, scan }, plan.conditions);
      }
      case 'hash': {
        const outer = this.#ofTuples(plan.outer);
        const inner = this.#ofTuples(plan.inner);
        const rows = isUniqueKey(plan) ? outer.rows : times(outer.rows, inner.rows);
        const scan = saturate(outer.scan + inner.scan + rows);
        return filtered({ rows, scan }, plan.conditions);
      }
      case 'filter':
        return filtered(this.#ofTuples(plan.input), plan.conditions);
      case 'first':
      case 'aggregate':
        return this.#ofTuples(plan.input);
      default:
        return unreachable(plan);
    }
  }

  #ofSource({ from, access }: SourcePlan): Scanned {
    if (from.kind === 'rows') return this.ofRows(from.rows);
    if (from.kind === 'common') {
      const rows = this.#plan.commonTables.get(from.number);
      if (rows === undefined) return empty;
      // A common table is computed once, however often it is read.
      const before = this.#commonSeen.get(from.number);
      if (before !== undefined) return { rows: before.rows, scan: before.rows };
      const all = this.ofRows(rows);
      this.#commonSeen.set(from.number, all);
      return all;
    }
    const { table } = from;
    const count = BigInt(this.#statistics.rowCount(table));
    switch (access.kind) {
      case 'scan':
      case 'among':
      case 'nearest':
      case 'search':
        return { rows: count, scan: count };
      case 'range': {
        // By contract a range is estimated as if no index existed for it.
        return access.conditions.length === 0
          ? { rows: count, scan: count }
          : { rows: count, scan: times(count, 2n) };
      }
      case 'point':
      case 'points': {
        const bucket = BigInt(Math.floor(this.#statistics.rowsPerKey(table, access.index)));
        const keys = access.kind === 'points' ? BigInt(access.keys.length) : 1n;
        const rows = times(bucket < count ? bucket : count, keys);
        return { rows, scan: rows };
      }
      default:
        return unreachable(access);
    }
  }
}

/** A filter looks at every row a second time. */
function filtered(input: Scanned, conditions: readonly TypedExpression[]): Scanned {
  if (conditions.length === 0) return input;
  return { rows: input.rows, scan: saturate(input.scan + input.rows) };
}

function isFullScan(plan: TuplesPlan): boolean {
  return plan.kind === 'source' && plan.access.kind === 'scan' && plan.conditions.length === 0;
}

/** Whether no two rows of the inner side have the same key. */
function isUniqueKey({ inner, innerKeys }: HashPlan): boolean {
  if (inner.from.kind !== 'table') return false;
  return inner.from.table.indexes.some(
    ({ isUnique, columns }) =>
      isUnique &&
      columns.every((column) =>
        innerKeys.some((key) => key.kind === 'column' && key.column === column),
      ),
  );
}
