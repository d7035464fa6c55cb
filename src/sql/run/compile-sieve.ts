import type { RowShape } from '../../store/row-shape.ts';
import { canRaise } from '../check/can-raise.ts';
import type { TypedColumn, TypedComparison, TypedExpression } from '../check/typed.ts';
import { isRequestValue } from '../check/typed-expression.ts';
import {
  allOf,
  anyOf,
  type BytesTest,
  columnsTestOf,
  columnTestOf,
} from '../expressions/bytes-test.ts';
import { compileConditions } from '../expressions/compile-condition.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import { encodeQueryValue } from '../functions/value-codec.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import type { Sieve } from '../operators/table-source.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { swappedOperator } from '../syntax/comparison-operators.ts';

/** Where the rows are that a sieve tests. */
export interface SieveScope {
  readonly slot: number;
  readonly shape: RowShape;
  readonly context: CompileContext;
}

/**
 * The conditions on the rows of one stored table. Those that compare columns with values of the
 * request look at bytes alone; they come first, so the others are evaluated only for the remaining
 * rows. That keeps the order of security, because comparing bytes raises no errors.
 */
export function compileSieve(terms: readonly TypedExpression[], scope: SieveScope): Sieve {
  const onBytes: Bindable[] = [];
  const others: TypedExpression[] = [];
  for (const term of terms) {
    const bindable = bindableOf(term, scope);
    if (bindable === undefined) others.push(term);
    else onBytes.push(bindable);
  }
  return {
    bytesTest: onBytes.length === 0 ? undefined : testOfExecution(every(onBytes)),
    condition: compileConditions(others, scope.context),
  };
}

/** A condition on the bytes of a row, whose values become known when the statement runs. */
interface Bindable {
  /** True: it has bytes of the plan alone, so one test serves all executions. */
  readonly isConstant: boolean;
  /** Returns `undefined` if a value is null, so that no row satisfies the condition. */
  readonly bind: (state: ExecutionState) => BytesTest | undefined;
}

function testOfExecution({ isConstant, bind }: Bindable): (state: ExecutionState) => BytesTest {
  if (!isConstant) return (state) => bind(state) ?? never;
  let test: BytesTest | undefined;
  return (state) => {
    test ??= bind(state) ?? never;
    return test;
  };
}

function never(): boolean {
  return false;
}

/** Longer lists are looked up in a set. */
const listValuesMax = 4;

/** Returns `undefined` if the bytes of the row do not decide the condition. */
function bindableOf(term: TypedExpression, scope: SieveScope): Bindable | undefined {
  switch (term.kind) {
    case 'column':
      return isOwn(term, scope) ? toValue('=', term, constantBool(true), scope) : undefined;
    case 'not': {
      const { operand } = term;
      return isOwn(operand, scope) ? toValue('=', operand, constantBool(false), scope) : undefined;
    }
    case 'comparison':
      return comparison(term, scope);
    case 'and':
    case 'or': {
      const terms = term.terms.map((inner) => bindableOf(inner, scope));
      const known = terms.filter((inner) => inner !== undefined);
      if (known.length < terms.length) return undefined;
      return term.kind === 'and' ? every(known) : some(known);
    }
    case 'inList': {
      const { operand, values } = term;
      if (!isOwn(operand, scope)) return undefined;
      if (values.length > listValuesMax || !values.every(isPlainValue)) return undefined;
      return some(values.map((value) => toValue('=', operand, value, scope)));
    }
    default:
      return undefined;
  }
}

function comparison(
  { left, right, operator }: TypedComparison,
  scope: SieveScope,
): Bindable | undefined {
  if (isOwn(left, scope)) {
    if (isPlainValue(right)) return toValue(operator, left, right, scope);
    if (!isOwn(right, scope)) return undefined;
    const test = columnsTestOf(operator, left.column, right.column, scope.shape);
    return { isConstant: true, bind: () => test };
  }
  if (!isOwn(right, scope) || !isPlainValue(left)) return undefined;
  return toValue(swappedOperator[operator], right, left, scope);
}

function toValue(
  operator: ComparisonOperator,
  { column }: TypedColumn,
  value: TypedExpression,
  { shape, context }: SieveScope,
): Bindable {
  const evaluate = compileExpression(value, context);
  const type = shape.columnTypes[column] ?? value.type;
  return {
    isConstant: value.kind === 'constant',
    bind: (state) => {
      const bound = evaluate(state);
      if (bound === null) return undefined;
      const bytes = encodeQueryValue(type, bound, shape.types);
      return columnTestOf({ operator, type, value: bytes }, column, shape);
    },
  };
}

function every(terms: readonly Bindable[]): Bindable {
  return {
    isConstant: terms.every(({ isConstant }) => isConstant),
    bind: (state) => {
      const tests: BytesTest[] = [];
      for (const { bind } of terms) {
        const test = bind(state);
        if (test === undefined) return undefined;
        tests.push(test);
      }
      return allOf(tests);
    },
  };
}

function some(terms: readonly Bindable[]): Bindable {
  return {
    isConstant: terms.every(({ isConstant }) => isConstant),
    bind: (state) => {
      const tests = terms.map(({ bind }) => bind(state)).filter((test) => test !== undefined);
      return tests.length === 0 ? undefined : anyOf(tests);
    },
  };
}

function isOwn(expression: TypedExpression, { slot }: SieveScope): expression is TypedColumn {
  return expression.kind === 'column' && expression.slot === slot;
}

function isPlainValue(value: TypedExpression): boolean {
  return isRequestValue(value) && !canRaise(value);
}

function constantBool(value: boolean): TypedExpression {
  const bytes = Uint8Array.of(value ? 1 : 0);
  return { kind: 'constant', type: { kind: 'bool' }, isNullable: false, bytes };
}
