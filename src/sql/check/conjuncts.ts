import type { ValueType } from '../functions/value-type.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { negatedOperator, swappedOperator } from '../syntax/comparison-operators.ts';
import { canRaise } from './can-raise.ts';
import type { TypedComparison, TypedExpression } from './typed.ts';
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
}

/** Reads a conjunct as `column of slot ⋚ something that does not need slot`. */
export function boundOf(conjunct: TypedExpression, slot: number): Bound | undefined {
  if (conjunct.kind === 'column' && conjunct.slot === slot) {
    const value: TypedExpression = {
      kind: 'constant',
      type: conjunct.type,
      isNullable: false,
      bytes: Uint8Array.of(1),
    };
    return { column: conjunct.column, operator: '=', value, conjunct };
  }
  if (conjunct.kind === 'not' && conjunct.operand.kind === 'column') {
    const { operand } = conjunct;
    if (operand.slot !== slot) return undefined;
    const { type } = operand;
    const bytes = Uint8Array.of(0);
    const value: TypedExpression = { kind: 'constant', type, isNullable: false, bytes };
    return { column: operand.column, operator: '=', value, conjunct };
  }
  if (conjunct.kind !== 'comparison') return undefined;
  const { left, right, operator } = conjunct;
  if (left.kind === 'column' && left.slot === slot && !needsOf(right).slots.has(slot)) {
    return { column: left.column, operator, value: right, conjunct };
  }
  if (right.kind === 'column' && right.slot === slot && !needsOf(left).slots.has(slot)) {
    return { column: right.column, operator: swappedOperator[operator], value: left, conjunct };
  }
  return undefined;
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
