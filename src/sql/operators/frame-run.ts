import type { QueryValue } from '../functions/function.ts';
import type { ValueComparator } from '../functions/value-codec.ts';
import type { WindowFrame, WindowFunction } from '../functions/windows.ts';
import type { ExecutionState } from './execution-state.ts';
import type { Partitions } from './window-partitions.ts';

/** What one window function needs to run. */
export interface FrameRun {
  readonly state: ExecutionState;
  readonly partitions: Partitions;
  readonly function: WindowFunction;
  readonly frame: WindowFrame;
  /** The first key of the order. */
  readonly key: OrderedBy | undefined;
  readonly argument: (at: number, row: number) => QueryValue;
  readonly argumentCount: number;
  /** Counts memory. */
  readonly take: (bytes: number) => void;
  readonly keep: (row: number, result: QueryValue) => void;
}

/** What rows are ordered by, where a frame measures distances. */
export interface OrderedBy {
  readonly valueOf: (row: number) => QueryValue;
  readonly compare: ValueComparator;
  readonly isDescending: boolean;
}

export function argumentAt(
  { argument, partitions }: FrameRun,
  number: number,
  at: number,
): QueryValue {
  return argument(number, partitions.rows[at] as number);
}
