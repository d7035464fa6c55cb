import { quotedName } from '../schema/quoted-name.ts';
import { ConnectionId } from '../values/connection-id.ts';
import { Identity } from '../values/identity.ts';
import { Timestamp } from '../values/timestamp.ts';
import { Uuid } from '../values/uuid.ts';
import type { LiteralExpr, LiteralValue, ofTable } from './query-types.ts';

/** One side of a comparison. */
export type Operand =
  | {
      readonly kind: 'column';
      readonly table: string;
      readonly column: string;
      readonly key: string;
    }
  | { readonly kind: 'literal'; readonly value: LiteralValue };

export type Operator = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte';

export type Condition =
  | {
      readonly kind: 'compare';
      readonly operator: Operator;
      readonly left: Operand;
      readonly right: Operand;
    }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  /** `LIKE`; without a pattern `IS NULL`. */
  | { readonly kind: 'test'; readonly operand: Operand; readonly pattern: string | undefined };

let readCondition: (expression: BooleanExpr<any>) => Condition;

/**
 * A condition on one row, true or false. Made by comparing columns.
 *
 * @example
 * ```ts
 * ctx.from.hero.where((hero) => hero.level.gte(10).and(hero.nick.ne('')));
 * ```
 */
export class BooleanExpr<Name extends string = string> {
  declare readonly [ofTable]: Name;
  readonly #condition: Condition;

  constructor(condition: Condition) {
    this.#condition = condition;
  }

  and(...others: readonly BooleanExpr<Name>[]): BooleanExpr<Name> {
    return and(this, ...others);
  }

  or(...others: readonly BooleanExpr<Name>[]): BooleanExpr<Name> {
    return or(this, ...others);
  }

  not(): BooleanExpr<Name> {
    return not(this);
  }

  static {
    readCondition = (expression) => expression.#condition;
  }
}

/**
 * True if all of the conditions hold.
 *
 * @example
 * ```ts
 * ctx.from.hero.where((hero) => and(hero.level.gt(3), hero.level.lt(9)));
 * ```
 */
export function and<Name extends string>(
  ...expressions: readonly BooleanExpr<Name>[]
): BooleanExpr<Name> {
  return joinedBy('and', expressions);
}

/**
 * True if at least one of the conditions holds.
 *
 * @example
 * ```ts
 * ctx.from.hero.where((hero) => or(hero.level.lt(3), hero.nick.eq('Ada')));
 * ```
 */
export function or<Name extends string>(
  ...expressions: readonly BooleanExpr<Name>[]
): BooleanExpr<Name> {
  return joinedBy('or', expressions);
}

/**
 * True if the condition does not hold.
 *
 * @example
 * ```ts
 * ctx.from.hero.where((hero) => not(hero.nick.eq('Ada')));
 * ```
 */
export function not<Name extends string>(expression: BooleanExpr<Name>): BooleanExpr<Name> {
  return new BooleanExpr({ kind: 'not', part: readCondition(expression) });
}

/**
 * A value to compare with, for cases where a bare one would be ambiguous.
 *
 * @example
 * ```ts
 * ctx.from.hero.where((hero) => hero.level.eq(literal(3)));
 * ```
 */
export function literal<Value extends LiteralValue>(value: Value): LiteralExpr<Value> {
  return { literal: value } as unknown as LiteralExpr<Value>;
}

/**
 * Whether `expression` holds for `row`, by the rules of the database.
 *
 * @example
 * ```ts
 * const isStrong = evaluateBooleanExpr(expression, { nick: 'Ada', level: 12 });
 * ```
 */
export function evaluateBooleanExpr(
  expression: BooleanExpr<any>,
  row: Readonly<Record<string, unknown>>,
): boolean {
  return truthOf(readCondition(expression), row) ?? false;
}

/** The tree behind a predicate's result: an expression, a boolean column or a boolean. */
export function conditionOf(given: unknown): Condition {
  if (given instanceof BooleanExpr) return readCondition(given);
  return compare('eq', operandOf(given), { kind: 'literal', value: true });
}

export function compare(operator: Operator, left: Operand, right: Operand): Condition {
  return { kind: 'compare', operator, left, right };
}

/** A column, a wrapped literal, a value of an enum, which stands for its tag, or a bare literal. */
export function operandOf(given: unknown): Operand {
  const { operand, literal: wrapped, tag }: GivenObject = Object(given);
  return operand ?? { kind: 'literal', value: wrapped ?? tag ?? (given as LiteralValue) };
}

interface GivenObject {
  readonly operand?: Operand;
  readonly literal?: LiteralValue;
  readonly tag?: string;
}

export const operatorTexts = { eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' } as const;

/** SQL of a condition: operands of AND, OR and NOT are in parentheses. */
export function conditionToSql(condition: Condition): string {
  switch (condition.kind) {
    case 'compare': {
      const { left, operator, right } = condition;
      return `${operandToSql(left)} ${operatorTexts[operator]} ${operandToSql(right)}`;
    }
    case 'not':
      return `NOT (${conditionToSql(condition.part)})`;
    case 'test': {
      const { operand, pattern } = condition;
      const left = operandToSql(operand);
      return `${left} ${pattern === undefined ? 'IS NULL' : `LIKE ${literalToSql(pattern)}`}`;
    }
    default: {
      const parts = condition.parts.map((part) => `(${conditionToSql(part)})`);
      // Without parts: a list of no values.
      return parts.join(condition.kind === 'and' ? ' AND ' : ' OR ') || 'FALSE';
    }
  }
}

export function operandToSql(operand: Operand): string {
  return operand.kind === 'column'
    ? `${quoted(operand.table)}.${quotedName(operand.column)}`
    : literalToSql(operand.value);
}

/** Quotes each part of a dotted name on its own. */
export function quoted(table: string): string {
  return table.split('.').map(quotedName).join('.');
}

/** A bare value as it is written in SQL. */
export function literalToSql(value: LiteralValue): string {
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (typeof value === 'bigint' || Number.isFinite(value)) return String(value);
  if (value instanceof Timestamp) return `'${value.toISOString()}'`;
  if (value instanceof Uuid || value instanceof Identity || value instanceof ConnectionId) {
    return `0x${value.toHexString()}`;
  }
  const known = 'strings, finite numbers, booleans, ids and timestamps';
  throw new TypeError(`a query compares with ${known} only`);
}

function joinedBy(kind: 'and' | 'or', expressions: readonly BooleanExpr<any>[]): BooleanExpr<any> {
  const parts = expressions.map((expression) => readCondition(expression));
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return new BooleanExpr(only);
  return new BooleanExpr({ kind, parts });
}

/** `undefined`: a value is missing, and the condition is neither true nor false. */
function truthOf(
  condition: Condition,
  row: Readonly<Record<string, unknown>>,
): boolean | undefined {
  switch (condition.kind) {
    case 'and':
    case 'or': {
      const truths = condition.parts.map((part) => truthOf(part, row));
      const decisive = condition.kind === 'or';
      if (truths.includes(decisive)) return decisive;
      return truths.includes(undefined) ? undefined : !decisive;
    }
    case 'not': {
      const truth = truthOf(condition.part, row);
      return truth === undefined ? truth : !truth;
    }
    case 'test': {
      const { operand, pattern } = condition;
      const value = comparedValue(operand, row);
      if (pattern === undefined) return value === undefined;
      return value === undefined ? value : likeRegExp(pattern).test(String(value));
    }
    case 'compare': {
      const left = comparedValue(condition.left, row);
      const right = comparedValue(condition.right, row);
      if (left === undefined || right === undefined) return undefined;
      return comparisons[condition.operator](left, right);
    }
  }
}

/** `%` stands for any text, `_` for one character, and `\\` takes either as it is. */
function likeRegExp(pattern: string): RegExp {
  const source = pattern.replaceAll(/\\?([\s\S])/gu, (found, character) => {
    if (found === '%') return '.*';
    if (found === '_') return '.';
    return /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
  });
  return new RegExp(`^${source}$`, 'su');
}

type Ordered = string | number | bigint | boolean;

const comparisons: Readonly<Record<Operator, (a: Ordered, b: Ordered) => boolean>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
};

/** The value that JavaScript compares: for classes, the number they hold. */
function comparedValue(
  operand: Operand,
  row: Readonly<Record<string, unknown>>,
): Ordered | undefined {
  const value = operand.kind === 'column' ? row[operand.key] : operand.value;
  if (value instanceof Timestamp) return value.microsSinceUnixEpoch;
  if (value instanceof Uuid) return value.asBigInt();
  if (value instanceof Identity || value instanceof ConnectionId) return `${value.toHexString()}`;
  if (typeof value === 'object' && value !== null && 'tag' in value) return String(value.tag);
  return value as Ordered | undefined;
}
