import { assert } from '../../assert.ts';
import type { DerivedIndexSpec } from '../../schema/catalog.ts';
import { isVectorMetric, type VectorMetric } from '../../store/vector-distance.ts';
import type { TypedExpression } from '../check/typed.ts';
import { isRequestValue } from '../check/typed-expression.ts';
import type {
  Access,
  PassedIndex,
  PlanOptions,
  SortKey,
  SortPlan,
  SourcePlan,
  TuplesPlan,
} from './plan.ts';
import type { Statistics } from './statistics.ts';

/** With fewer rows than this, a look at all of them is as quick. */
export const rowsMin = 1_000;

/** The metric of an index of vectors. */
export function metricOf({ options }: DerivedIndexSpec): VectorMetric {
  const metric = options.find(({ name }) => name === 'metric')?.value;
  assert(metric !== undefined && isVectorMetric(metric), 'an index of vectors has a metric');
  return metric;
}

/**
 * The tuples by an index of vectors, if only the first of them are needed and `keys` begins with
 * the distance that it is of.
 */
export function nearestByIndex(
  input: TuplesPlan,
  [first]: readonly SortKey[],
  top: SortPlan['top'],
  { options, statistics }: { readonly options: PlanOptions; readonly statistics: Statistics },
): TuplesPlan {
  const { useIndexes, optimise } = options;
  if (!useIndexes || !optimise || top === undefined || first === undefined) return input;
  if (input.kind !== 'source' || input.from.kind !== 'table') return input;
  const { table } = input.from;
  if (input.access.kind !== 'scan') return input;
  const asked = distanceOf(first, input.slot);
  if (asked === undefined) return input;
  const indexes = table.derivedIndexes.filter(
    (one) => one.kind === 'vector' && one.column === asked.column,
  );
  const [other] = indexes;
  if (other === undefined) return input;
  const index = indexes.find((one) => metricOf(one) === asked.metric);
  if (index === undefined) return scanned(input, { index: other, reason: 'metric' });
  if (statistics.rowCount(table) < rowsMin) return scanned(input, { index, reason: 'rows' });
  const access: Access = { kind: 'nearest', index, wanted: asked.wanted, top };
  return { ...input, access };
}

function scanned(input: SourcePlan, passed: PassedIndex): SourcePlan {
  return { ...input, access: { kind: 'scan', passed } };
}

interface AskedDistance {
  readonly metric: VectorMetric;
  readonly column: number;
  readonly wanted: TypedExpression;
}

/** A key that puts the nearest first: of scalar products, those are the largest. */
function distanceOf(
  { expression, isDescending }: SortKey,
  slot: number,
): AskedDistance | undefined {
  if (expression.kind !== 'call' || expression.function.metric === undefined) return undefined;
  const { metric } = expression.function;
  if (isDescending !== (metric === 'innerProduct')) return undefined;
  const [left, right] = expression.arguments;
  for (const [vector, wanted] of [
    [left, right],
    [right, left],
  ] as const) {
    if (vector?.kind !== 'column' || vector.slot !== slot || wanted === undefined) continue;
    if (isRequestValue(wanted)) return { metric, column: vector.column, wanted };
  }
  return undefined;
}
