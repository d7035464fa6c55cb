import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { noHistory } from '../failure.ts';
import { enumNames } from '../functions/enum.ts';
import type { Rights } from '../rights.ts';
import type { SqlSchema } from '../schema.ts';
import type {
  ColumnReference,
  Comparison,
  Expression,
  From,
  Join,
  Query,
  Relation,
  Select,
  SelectItem,
  Statement,
} from '../syntax/ast.ts';
import { dialectTexts } from '../syntax/refusal.ts';
import { boolType, detailOf, refuse, type Written } from './context.ts';
import { columnPosition, unqualifiedMessage } from './scope.ts';
import { visibleTable } from './visibility.ts';
import { columnsIn } from './written.ts';

/** The type of a column, if the relations of FROM have it and the caller may know. */
export type ColumnTypes = (column: ColumnReference, from: From) => AlgebraicType | undefined;

/**
 * Refuses everything that is not in the subscription dialect: whole rows of one relation, inner
 * joins on one pair of columns, and conditions of comparisons, AND, OR and NOT; options and enums
 * also have IS NULL and LIKE. FROM comes first, then the conditions, then the list. A list of
 * columns passes: it is refused once its names are known.
 */
export function requireSubscriptionDialect(
  statement: Statement,
  written: Written,
  typeOf: ColumnTypes,
): Select {
  if (statement.kind !== 'query') {
    throw refuse('Unsupported: Non-SELECT queries', statement.span, written);
  }
  const select = requireSelect(statement.query, written);
  const { from, where } = select;
  if (from === undefined) throw refuse(dialectTexts.noFrom, select.span, written);
  requireFrom(from, written);
  const columnType = (operand: Expression) =>
    operand.kind === 'column' ? typeOf(operand, from) : undefined;
  requireCondition(where, { ...written, typeOf: columnType });
  requireList(select.items, written);
  if (from.joins.length > 0) requireQualified(select, from, written);
  return select;
}

/** A condition of a join: two columns that are equal. */
export function isColumnPair(on: Expression): on is Comparison & {
  readonly left: ColumnReference;
  readonly right: ColumnReference;
} {
  const isEquality = on.kind === 'comparison' && on.operator === '=';
  return isEquality && on.left.kind === 'column' && on.right.kind === 'column';
}

function requireSelect(query: Query, written: Written): Select {
  const { body, unsupported, commonTables, orderBy, limit, offset, asOf } = query;
  if (unsupported !== undefined) throw refuse(unsupported.message, unsupported.span, written);
  if (asOf !== undefined) throw noHistory(detailOf(asOf.span, written));
  const hasMore = commonTables.length > 0 || orderBy.length > 0;
  if (hasMore || limit !== undefined || offset !== undefined) {
    throw refuse(`Unsupported: ${written.source.text(query.span)}`, query.span, written);
  }
  if (body.kind !== 'select') {
    const text = written.source.text(body.span);
    throw refuse(`Unsupported set operation: ${text}`, body.span, written);
  }
  const isGrouped = body.groupBy.length > 0 || body.having !== undefined;
  const isMore = body.isDistinct || isGrouped || body.windows.length > 0;
  if (isMore || body.unsupported !== undefined) {
    throw refuse(`Unsupported SELECT: ${written.source.text(body.span)}`, body.span, written);
  }
  return body;
}

function requireFrom({ first, joins }: From, written: Written): void {
  requireNamed(first, written);
  for (const join of joins) {
    if (join.kind === 'comma') {
      throw refuse(dialectTexts.implicitJoin, join.span, written);
    }
    if (!isInner(join)) throw refuse(dialectTexts.otherJoin, join.span, written);
    requireNamed(join.relation, written);
  }
}

function isInner({ kind, on, isParenthesised }: Join): boolean {
  if (kind === 'cross') return true;
  if (kind !== 'inner') return false;
  return on === undefined || (!isParenthesised && isColumnPair(on));
}

function requireNamed(relation: Relation, written: Written): void {
  if (relation.kind === 'named') return;
  if (relation.kind === 'unsupported') throw refuse(relation.message, relation.span, written);
  const text = written.source.text(relation.span);
  throw refuse(dialectTexts.from(text), relation.span, written);
}

function requireList(items: readonly SelectItem[], written: Written): void {
  const isAlone = items.length === 1;
  if (!isAlone) {
    const wildcard = items.find((item) => item.kind !== 'expression');
    if (wildcard !== undefined) {
      throw refuse(dialectTexts.mixedWildcards, wildcard.span, written);
    }
  }
  for (const item of items) {
    if (item.kind === 'expression') requireItem(item, isAlone, written);
  }
}

function requireItem(
  item: Extract<SelectItem, { readonly kind: 'expression' }>,
  isAlone: boolean,
  written: Written,
): void {
  const { expression, alias, isParenthesised, span } = item;
  if (expression.kind === 'unsupported') throw refuse(expression.message, span, written);
  const text = written.source.text(span);
  if (expression.kind === 'column' && !isParenthesised) return;
  if (expression.kind === 'call' && !isParenthesised && isAlone) {
    if (alias === undefined) {
      throw refuse(dialectTexts.noAlias, span, written);
    }
    const isCount = expression.isOfRows && expression.name.toLowerCase() === 'count';
    if (isCount && expression.modifiers === undefined) return;
    throw refuse(dialectTexts.aggregate(text), span, written);
  }
  throw refuse(dialectTexts.projection(text), span, written);
}

interface ConditionPlace extends Written {
  /** `undefined` for anything but a column. */
  readonly typeOf: (operand: Expression) => AlgebraicType | undefined;
}

function requireCondition(expression: Expression | undefined, written: ConditionPlace): void {
  if (expression === undefined) return;
  switch (expression.kind) {
    case 'column':
    case 'sender':
    case 'boolean':
    case 'string':
    case 'number':
    case 'hex':
      return;
    case 'comparison':
      requireCondition(expression.left, written);
      requireCondition(expression.right, written);
      return;
    case 'and':
    case 'or':
      for (const term of expression.terms) requireCondition(term, written);
      return;
    case 'not':
      requireCondition(expression.operand, written);
      return;
    case 'isNull':
    case 'like':
      if (isOfOptionOrEnum(expression, written)) return;
      throw refuse(refusalOf(expression, written), expression.span, written);
    default:
      throw refuse(refusalOf(expression, written), expression.span, written);
  }
}

/** `IS NULL` of an option, and `LIKE` of an option or enum with a pattern that is written out. */
function isOfOptionOrEnum(expression: Expression, { typeOf }: ConditionPlace): boolean {
  switch (expression.kind) {
    case 'isNull':
      return specialKindOf(typeOf(expression.operand) ?? boolType) === 'option';
    case 'like': {
      const { operand, pattern, escape: last, ignoresCase } = expression;
      if (pattern.kind !== 'string' || last !== undefined || ignoresCase) return false;
      const type = typeOf(operand) ?? boolType;
      return specialKindOf(type) === 'option' || enumNames(type) !== undefined;
    }
    default:
      return false;
  }
}

/** The types of columns that a caller with these rights may know. */
export function columnTypesOf(schema: SqlSchema, rights: Rights): ColumnTypes {
  return ({ parts }, { first, joins }) => {
    const qualifier = parts.slice(0, -1).join('.');
    for (const relation of [first, ...joins.map((join) => join.relation)]) {
      if (relation.kind !== 'named') continue;
      if (qualifier !== '' && qualifier !== (relation.alias ?? relation.name)) continue;
      const columns = visibleTable(schema, rights, relation.name)?.columns ?? [];
      const column = columns[columnPosition(columns, parts.at(-1) ?? '')];
      if (column !== undefined) return resolveType(column.type, { types: schema.types });
    }
    return undefined;
  };
}

function refusalOf(expression: Expression, { source }: Written): string {
  switch (expression.kind) {
    case 'unsupported':
      return expression.message;
    case 'null':
    case 'parameter':
      return dialectTexts.literal(source.text(expression.span));
    case 'arithmetic':
    case 'json':
      return dialectTexts.operator(expression.operator);
    case 'array': {
      const { form } = expression;
      if (form !== 'literal' && form !== 'element') return dialectTexts.operator(form);
      return dialectTexts.expression(source.text(expression.span));
    }
    default:
      return dialectTexts.expression(source.text(expression.span));
  }
}

function requireQualified(select: Select, from: From, written: Written): void {
  const parts: Expression[] = [];
  for (const item of select.items) if (item.kind === 'expression') parts.push(item.expression);
  for (const { on } of from.joins) if (on !== undefined) parts.push(on);
  if (select.where !== undefined) parts.push(select.where);
  const unqualified = parts.flatMap(columnsIn).find((column) => column.parts.length < 2);
  if (unqualified !== undefined) throw refuse(unqualifiedMessage, unqualified.span, written);
}
