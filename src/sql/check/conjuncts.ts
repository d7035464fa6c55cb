import { specialKindOf } from '../../values/special-types.ts';
import { noneBytes, someOf, someTag } from '../functions/option-bytes.ts';
import type { ValueType } from '../functions/value-type.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { negatedOperator, swappedOperator } from '../syntax/comparison-operators.ts';
import { canRaise } from './can-raise.ts';
import type { TypedColumn, TypedComparison, TypedExpression } from './typed.ts';
import { hasSubquery, needsOf } from './typed-expression.ts';

/** The conditions that all have to hold for `condition` to hold; NOT is moved inwards. */
export function conjunctsOf(condition: TypedExpression | undefined): readonly TypedExpression[] {
  if (condition === undefined) return [];
  const positive = condition.kind === 'not' ? negation(condition.operand) : condition;
  if (positive.kind === 'and') return positive.terms.flatMap(conjunctsOf);
  if (isTrue(positive)) return [];
  return [positive];
}

const conditionType: ValueType = { type: { kind: 'bool' }, isNullable: true };

export function conjunction(terms: readonly TypedExpression[]): TypedExpression | undefined {
  const [first] = terms;
  if (first === undefined || terms.length === 1) return first;
  return { kind: 'and', terms, ...conditionType };
}

export function isTrue(condition: TypedExpression): boolean {
  return condition.kind === 'constant' && condition.bytes?.[0] === 1;
}

/** Never true: FALSE, or a null. */
export function isNever(condition: TypedExpression): boolean {
  return condition.kind === 'constant' && condition.bytes?.[0] !== 1;
}

/** Moves NOT towards the leaves. Null stays null on the way, so nothing else changes. */
function negation(operand: TypedExpression): TypedExpression {
  const { type, isNullable } = operand;
  switch (operand.kind) {
    case 'not':
      return operand.operand;
    case 'and':
    case 'or': {
      const terms = operand.terms.map(negation);
      return { kind: operand.kind === 'and' ? 'or' : 'and', terms, type, isNullable };
    }
    case 'comparison':
      return { ...operand, operator: negatedOperator[operand.operator] };
    case 'constant':
      if (operand.bytes === undefined) return operand;
      return { ...operand, bytes: Uint8Array.of(operand.bytes[0] === 1 ? 0 : 1) };
    default:
      return { kind: 'not', operand, type, isNullable };
  }
}

/** Puts the operand that only needs `slot` on the left of a comparison. */
export interface Bound {
  readonly column: number;
  readonly operator: ComparisonOperator;
  readonly value: TypedExpression;
  readonly conjunct: TypedExpression;
  /** False: rows within the bound have still to be tested by the conjunct. */
  readonly isExact: boolean;
  /** It bounds what an Option holds, so no row without a value satisfies the conjunct. */
  readonly isHeld: boolean;
  /** Where a text begins that the request brings: perhaps everywhere. */
  readonly isOfPattern?: true;
}

/**
 * Reads a conjunct as `column of slot ⋚ something that does not need slot`. For what an Option
 * holds, the column itself is bounded: by the value as an Option, which has the same place in the
 * order as the value has among the values.
 */
export function boundOf(conjunct: TypedExpression, slot: number): Bound | undefined {
  switch (conjunct.kind) {
    case 'column':
      return truthBound(conjunct, true, conjunct, slot);
    case 'not':
      return truthBound(conjunct.operand, false, conjunct, slot);
    case 'isNull': {
      const column = columnOf(conjunct.operand, slot);
      if (column === undefined || column === conjunct.operand) return undefined;
      return boundBy(column, '=', constantOf(column, noneBytes), whole(conjunct));
    }
    case 'comparison': {
      const { left, right, operator } = conjunct;
      const leftColumn = columnOf(left, slot);
      if (leftColumn !== undefined && !needsOf(right).slots.has(slot)) {
        return comparedBound(leftColumn, left, operator, right, conjunct);
      }
      const rightColumn = columnOf(right, slot);
      if (rightColumn === undefined || needsOf(left).slots.has(slot)) return undefined;
      return comparedBound(rightColumn, right, swappedOperator[operator], left, conjunct);
    }
    default:
      return undefined;
  }
}

/** A condition that is a column of Bool, or its negation. */
function truthBound(
  operand: TypedExpression,
  truth: boolean,
  conjunct: TypedExpression,
  slot: number,
): Bound | undefined {
  if (operand.kind !== 'column' || operand.slot !== slot) return undefined;
  const value = constantOf(operand, Uint8Array.of(truth ? 1 : 0));
  return boundBy(operand, '=', value, whole(conjunct));
}

function comparedBound(
  column: TypedColumn,
  compared: TypedExpression,
  operator: ComparisonOperator,
  value: TypedExpression,
  conjunct: TypedExpression,
): Bound {
  if (compared === column) return boundBy(column, operator, value, whole(conjunct));
  // As an Option, a value that is null finds rows without a value, and those come last in order.
  const isExact = !value.isNullable && (operator === '=' || operator.startsWith('<'));
  const rest = { conjunct, isExact, isHeld: true };
  return boundBy(column, operator, asOption(value, column), rest);
}

type BoundRest = Pick<Bound, 'conjunct' | 'isExact' | 'isHeld'>;

/** The rest of a bound of the column itself. */
function whole(conjunct: TypedExpression): BoundRest {
  return { conjunct, isExact: true, isHeld: false };
}

function boundBy(
  { column }: TypedColumn,
  operator: ComparisonOperator,
  value: TypedExpression,
  rest: BoundRest,
): Bound {
  return { column, operator, value, ...rest };
}

/** The column that an expression is, or whose Option holds it. */
export function comparedColumn(e: TypedExpression): TypedColumn | undefined {
  const column = isHeld(e) ? e.operand : e;
  return column.kind === 'column' ? column : undefined;
}

/** `comparedColumn` of a column of `slot`. */
export function columnOf(e: TypedExpression, slot: number): TypedColumn | undefined {
  const column = comparedColumn(e);
  return column?.slot === slot ? column : undefined;
}

/** Whether an expression is what an Option holds. */
function isHeld(e: TypedExpression): e is Extract<TypedExpression, { kind: 'variant' }> {
  return e.kind === 'variant' && specialKindOf(e.operand.type) === 'option' && e.tag === someTag;
}

/** A value as one of an Option column; a null becomes the none. */
export function asOption(value: TypedExpression, { type }: TypedColumn): TypedExpression {
  if (value.kind === 'constant' && value.bytes !== undefined) {
    return { kind: 'constant', type, isNullable: false, bytes: someOf(value.bytes) };
  }
  return { kind: 'convert', operand: value, type, isNullable: false };
}

/** Constants, parameters, and parameters as the values of Options. */
export function isGiven(value: TypedExpression): boolean {
  if (value.kind === 'constant' || value.kind === 'parameter') return true;
  const isOption = value.kind === 'convert' && specialKindOf(value.type) === 'option';
  return isOption && value.operand.kind === 'parameter' && !value.operand.isNullable;
}

/** The encoding of a value for which `isGiven` holds; `undefined` is null. */
export function givenBytes(
  value: TypedExpression,
  parameters: readonly (Uint8Array | undefined)[],
): Uint8Array | undefined {
  if (value.kind === 'constant') return value.bytes;
  const parameter = value.kind === 'convert' ? value.operand : value;
  if (parameter.kind !== 'parameter') return undefined;
  const bytes = parameters[parameter.parameter];
  return value.kind === 'convert' && bytes !== undefined ? someOf(bytes) : bytes;
}

function constantOf({ type }: TypedColumn, bytes: Uint8Array): TypedExpression {
  return { kind: 'constant', type, isNullable: false, bytes };
}

/** Reads `a = b` if its sides need different relations; for hash joins. */
export function equalityOf(conjunct: TypedExpression): TypedComparison | undefined {
  return conjunct.kind === 'comparison' && conjunct.operator === '=' ? conjunct : undefined;
}

/** True when the conjunct cannot hold while all columns of the slot are null. */
export function rejectsNull(conjunct: TypedExpression, slot: number): boolean {
  switch (conjunct.kind) {
    case 'comparison':
      return isNullWith(conjunct.left, slot) || isNullWith(conjunct.right, slot);
    case 'like':
      return isNullWith(conjunct.operand, slot);
    case 'inList':
      return isNullWith(conjunct.operand, slot);
    case 'not':
      if (conjunct.operand.kind === 'isNull') return isNullWith(conjunct.operand.operand, slot);
      return isUnknown(conjunct.operand, slot);
    case 'column':
      return isNullWith(conjunct, slot);
    case 'or':
      return conjunct.terms.every((term) => rejectsNull(term, slot));
    case 'and':
      return conjunct.terms.some((term) => rejectsNull(term, slot));
    default:
      return false;
  }
}

/** True when the condition is null, not only false, while all columns of the slot are null. */
function isUnknown(condition: TypedExpression, slot: number): boolean {
  switch (condition.kind) {
    case 'comparison':
    case 'like':
    case 'column':
      return rejectsNull(condition, slot);
    case 'not':
      return isUnknown(condition.operand, slot);
    default:
      return false;
  }
}

function isNullWith(e: TypedExpression, slot: number): boolean {
  switch (e.kind) {
    case 'column':
      return e.slot === slot && e.isNullable;
    case 'arithmetic':
      return isNullWith(e.left, slot) || isNullWith(e.right, slot);
    case 'convert':
    case 'negate':
    case 'variant':
    case 'field':
      return isNullWith(e.operand, slot);
    default:
      return false;
  }
}

/**
 * The order in which conditions on one tuple are evaluated: security before anything that could
 * reveal hidden rows by an error, cheap conditions before subqueries.
 */
export function inSafeOrder(
  security: readonly TypedExpression[],
  others: readonly TypedExpression[],
): readonly TypedExpression[] {
  const quiet = others.filter((term) => !canRaise(term));
  const raising = others.filter(canRaise);
  const cheapFirst = (terms: readonly TypedExpression[]): TypedExpression[] => [
    ...terms.filter((term) => !hasSubquery(term)),
    ...terms.filter(hasSubquery),
  ];
  const cheap = cheapFirst([...security, ...quiet].filter((term) => !canRaise(term)));
  return [...cheap, ...security.filter(canRaise), ...raising];
}
