import type { Typespace } from '../../values/type.ts';
import type { TypedExpression } from '../check/typed.ts';
import type { QueryValue } from '../functions/function.ts';
import type { Frame, SlotLayout } from './frame.ts';

/** What compiling expressions needs to know about the statement around them. */
export interface CompileContext {
  layoutOf(slot: number): SlotLayout;
  /** The types that refs index. */
  readonly types: Typespace;
  /** Runs a query inside an expression: its value, true or false, or null. */
  subquery(expression: SubqueryExpression): Evaluator;
}

export type SubqueryExpression = Extract<TypedExpression, { kind: 'subquery' }>;

/** The value of an expression for the rows in the frame. */
export type Evaluator = (frame: Frame) => QueryValue;

/** Whether a condition is true there: neither false nor null. */
export type Test = (frame: Frame) => boolean;
