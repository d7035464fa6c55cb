import type { ExecutionState } from './execution-state.ts';
import type { Operator } from './operator.ts';

/** Makes the operator of one execution. */
export type Maker<Made extends Operator> = (state: ExecutionState) => Made;
