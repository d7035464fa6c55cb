import type { RowShape } from '../../store/row-shape.ts';
import { canRaise } from '../check/can-raise.ts';
import type { TypedExpression } from '../check/typed.ts';
import { isRequestValue } from '../check/typed-expression.ts';
import { swappedOperator } from '../plan/conjuncts.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { compileCondition } from './compile-condition.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { ExecutionState } from './execution-state.ts';
import type { Condition } from './joins.ts';
import { all, type ByteCondition, compilePredicate, type Predicate } from './predicate.ts';
import type { Sieve } from './table-source.ts';
import { encodeQueryValue } from './value-codec.ts';

export function compileConditions(
  terms: readonly TypedExpression[],
  context: CompileContext,
): Condition | undefined {
  const [first, second, ...more] = terms.map((term) => compileCondition(term, context));
  if (first === undefined || second === undefined) return first;
  if (more.length === 0) return (frame) => first(frame) && second(frame);
  return (frame) => {
    if (!first(frame) || !second(frame)) return false;
    for (const condition of more) if (!condition(frame)) return false;
    return true;
  };
}

/**
 * The conditions on the rows of one stored table. Those that compare columns with values of the
 * request look at bytes alone; they come first, so the others are evaluated only for the remaining
 * rows. That keeps the order of security, because comparing bytes raises no errors.
 */
export function compileSieve(
  terms: readonly TypedExpression[],
  slot: number,
  { shape, context }: { readonly shape: RowShape; readonly context: CompileContext },
): Sieve {
  const templates: Template[] = [];
  const others: TypedExpression[] = [];
  for (const term of terms) {
    const template = templateOf(term, slot);
    if (template === undefined) others.push(term);
    else templates.push(template);
  }
  return {
    predicate: compileTemplates(templates, shape, context),
    condition: compileConditions(others, context),
  };
}

/** A condition on bytes whose values become known when the statement runs. */
type Template =
  | {
      readonly kind: 'columnToValue';
      readonly operator: ComparisonOperator;
      readonly column: number;
      readonly value: TypedExpression;
    }
  | Extract<ByteCondition, { readonly kind: 'columnToColumn' }>
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Template[] };

/** Longer lists are looked up in a set. */
const listValuesMax = 4;

function templateOf(term: TypedExpression, slot: number): Template | undefined {
  switch (term.kind) {
    case 'column':
      return term.slot === slot ? equalsBool(term.column, true) : undefined;
    case 'not': {
      const { operand } = term;
      if (operand.kind !== 'column' || operand.slot !== slot) return undefined;
      return equalsBool(operand.column, false);
    }
    case 'comparison':
      return comparisonTemplate(term, slot);
    case 'and':
    case 'or': {
      const terms = term.terms.map((inner) => templateOf(inner, slot));
      const known = terms.filter((inner) => inner !== undefined);
      return known.length === terms.length ? { kind: term.kind, terms: known } : undefined;
    }
    case 'inList': {
      const { operand, values } = term;
      if (operand.kind !== 'column' || operand.slot !== slot) return undefined;
      if (values.length > listValuesMax || !values.every(isPlainValue)) return undefined;
      const terms = values.map((value): Template => {
        return { kind: 'columnToValue', operator: '=', column: operand.column, value };
      });
      return { kind: 'or', terms };
    }
    default:
      return undefined;
  }
}

function comparisonTemplate(
  { left, right, operator }: Extract<TypedExpression, { readonly kind: 'comparison' }>,
  slot: number,
): Template | undefined {
  const isOwn = (e: TypedExpression): boolean => e.kind === 'column' && e.slot === slot;
  if (left.kind === 'column' && isOwn(left)) {
    if (isPlainValue(right)) {
      return { kind: 'columnToValue', operator, column: left.column, value: right };
    }
    if (right.kind === 'column' && isOwn(right)) {
      const { column, type } = left;
      return { kind: 'columnToColumn', operator, type, left: column, right: right.column };
    }
    return undefined;
  }
  if (right.kind !== 'column' || !isOwn(right) || !isPlainValue(left)) return undefined;
  const { column } = right;
  return { kind: 'columnToValue', operator: swappedOperator[operator], column, value: left };
}

function isPlainValue(value: TypedExpression): boolean {
  return isRequestValue(value) && !canRaise(value);
}

function equalsBool(column: number, value: boolean): Template {
  const bytes = Uint8Array.of(value ? 1 : 0);
  const constant: TypedExpression = {
    kind: 'constant',
    type: { kind: 'bool' },
    isNullable: false,
    bytes,
  };
  return { kind: 'columnToValue', operator: '=', column, value: constant };
}

function compileTemplates(
  templates: readonly Template[],
  shape: RowShape,
  context: CompileContext,
): Sieve['predicate'] {
  if (templates.length === 0) return undefined;
  const binders = templates.map((template) => compileTemplate(template, shape, context));
  if (templates.every(isConstant)) {
    // Bytes of the plan alone: one predicate serves all executions.
    let predicate: Predicate | undefined;
    return (state) => {
      predicate ??= bindAll(binders, shape, state);
      return predicate;
    };
  }
  return (state) => bindAll(binders, shape, state);
}

function isConstant(template: Template): boolean {
  switch (template.kind) {
    case 'columnToValue':
      return template.value.kind === 'constant';
    case 'columnToColumn':
      return true;
    default:
      return template.terms.every(isConstant);
  }
}

function bindAll(binders: readonly Binder[], shape: RowShape, state: ExecutionState): Predicate {
  const predicates: Predicate[] = [];
  for (const bind of binders) {
    const condition = bind(state);
    if (condition === undefined) return never;
    predicates.push(compilePredicate(condition, shape));
  }
  return all(predicates);
}

function never(): boolean {
  return false;
}

/** Fills in the values; `undefined` if one of them is null, so nothing satisfies the condition. */
type Binder = (state: ExecutionState) => ByteCondition | undefined;

function compileTemplate(template: Template, shape: RowShape, context: CompileContext): Binder {
  switch (template.kind) {
    case 'columnToColumn':
      return () => template;
    case 'columnToValue': {
      const { operator, column, value } = template;
      const evaluate = compileExpression(value, context);
      const type = shape.columnTypes[column] ?? value.type;
      return (state) => {
        const bound = evaluate(state);
        if (bound === null) return undefined;
        const bytes = encodeQueryValue(type, bound, shape.types);
        return { kind: 'columnToValue', operator, column, type, bytes };
      };
    }
    default: {
      const binders = template.terms.map((term) => compileTemplate(term, shape, context));
      const { kind } = template;
      return (state) => {
        const bound = binders.map((bind) => bind(state));
        const terms = bound.filter((term) => term !== undefined);
        if (kind === 'and' && terms.length < bound.length) return undefined;
        return terms.length === 0 ? undefined : { kind, terms };
      };
    }
  }
}
