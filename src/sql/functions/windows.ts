import type { FrameExclusion } from '../syntax/ast.ts';
import type { AggregateFunction } from './function.ts';

/** Window functions besides the aggregates. */
const names = [
  'row_number',
  'rank',
  'dense_rank',
  'percent_rank',
  'cume_dist',
  'ntile',
  'lag',
  'lead',
  'first_value',
  'last_value',
  'nth_value',
] as const;

export type WindowName = (typeof names)[number];

export const windowNames: ReadonlySet<string> = new Set(names);

export function isWindowName(name: string): name is WindowName {
  return windowNames.has(name);
}

/** What is computed for each row from the rows of its partition. */
export type WindowFunction =
  | { readonly name: WindowName }
  | { readonly name: 'aggregate'; readonly aggregate: AggregateFunction };

/** Offsets from the current row or group; infinite at the ends of the partition. */
export interface WindowFrame {
  readonly unit: 'rows' | 'range' | 'groups';
  readonly start: FrameEdge;
  readonly end: FrameEdge;
  readonly exclusion?: FrameExclusion | undefined;
}

/** Negative: before the current one. A distance is between the values that rows are ordered by. */
export type FrameEdge = number | { readonly distance: FrameDistance };

export type FrameDistance = number | bigint;

/** Up to the current row and those that are equal to it by the order. */
export const defaultFrame: WindowFrame = {
  unit: 'range',
  start: Number.NEGATIVE_INFINITY,
  end: 0,
};

/**
 * The value at a distance from that of the current row, towards the end of the order. An integer
 * has no bounds here: it is only compared.
 */
export function valueAtDistance(value: number | bigint, distance: FrameDistance): number | bigint {
  if (typeof value === 'bigint' && typeof distance === 'bigint') return value + distance;
  return Number(value) + Number(distance);
}
