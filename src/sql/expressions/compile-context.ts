import type { Typespace } from '../../values/type.ts';
import type { TypedExpression } from '../check/typed.ts';
import type { Evaluator, SlotLayout } from './frame.ts';

/** What compiling expressions needs to know about the statement around them. */
export interface CompileContext {
  layoutOf(slot: number): SlotLayout;
  /** The types that refs index. */
  readonly types: Typespace;
  /** Runs a query inside an expression: its value, true or false, or null. */
  subquery(expression: SubqueryExpression): Evaluator;
}

export type SubqueryExpression = Extract<TypedExpression, { kind: 'subquery' }>;
