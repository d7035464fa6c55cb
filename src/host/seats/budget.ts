import { limits } from '../../limits.ts';
import type { HeapLimits } from './heap-care.ts';

/** Limits of one database's module; the defaults are in `limits.ts`. */
export interface Budget {
  readonly callMillisMax: number;
  readonly publishMillisMax: number;
  readonly workerHeapMebibytesMax: number;
  readonly callBufferBytesMax: number;
}

/** The operator's limits, and those of `limits.ts` for what the operator left open. */
export function completeBudget(budget: Partial<Budget>): Budget {
  return {
    callMillisMax: budget.callMillisMax ?? limits.callMillisMax,
    publishMillisMax: budget.publishMillisMax ?? limits.publishMillisMax,
    workerHeapMebibytesMax: budget.workerHeapMebibytesMax ?? limits.workerHeapMebibytesMax,
    callBufferBytesMax: budget.callBufferBytesMax ?? limits.callBufferBytesMax,
  };
}

/**
 * Time limit of one SQL statement. A statement that ends itself costs less than ending the worker,
 * so this limit must be reached first.
 */
export function statementMillis({ callMillisMax }: Budget): number {
  return Math.ceil(callMillisMax * 0.8);
}

/** The memory that a module can keep between calls. */
export function heapLimits({ workerHeapMebibytesMax, callBufferBytesMax }: Budget): HeapLimits {
  return {
    heapBytesMax: workerHeapMebibytesMax * 1024 * 1024,
    bufferBytesMax: callBufferBytesMax,
  };
}
