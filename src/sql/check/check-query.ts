import { present, unreachable } from '../../assert.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { promotedType } from '../functions/arithmetic.ts';
import { optionInnerType } from '../functions/convert.ts';
import { encodeLiteralText } from '../functions/literal.ts';
import { isIntegerType, isNumericType } from '../functions/value-kind.ts';
import type { Expression, Query, QueryBody, SetOperation } from '../syntax/ast.ts';
import { dialectTexts } from '../syntax/refusal.ts';
import { checkOutputOrder } from './check-order.ts';
import { checkRecursive } from './check-recursive.ts';
import { checkSelect } from './check-select.ts';
import { bodyOfValues } from './check-values.ts';
import { coerceQuery, openItemsOf, requireSettled } from './coerce-query.ts';
import {
  type CommonTableList,
  type CommonTableUse,
  type Environment,
  equalTypes,
  mismatch,
  refuse,
  u64Type,
} from './context.ts';
import { namesFault } from './output-names.ts';
import { columnsOfQuery, emptyScope, requireDistinct } from './scope.ts';
import { typeAlone, typeAs } from './type-expression.ts';
import { isOpen } from './type-literal.ts';
import type { TypedBlock, TypedExpression, TypedQuery } from './typed.ts';
import { outerNeedsOf } from './typed-expression.ts';
import { converted } from './unify.ts';

/** Checks a query; `environment.scope` is what surrounds it, empty for a statement's own query. */
export function checkQuery(query: Query, environment: Environment): TypedQuery {
  const commonTables = checkCommonTables(query, environment);
  const inside: Environment = {
    ...environment,
    commonTables,
    aliases: undefined,
    windows: undefined,
  };
  const limit = (): TypedExpression | undefined => checkRowCount(query.limit, inside);
  const offset = (): TypedExpression | undefined => checkRowCount(query.offset, inside);
  const { body } = query;
  if (body.kind === 'select') {
    const { block, columns, order } = checkSelect(body, query.orderBy, inside);
    return complete({ body: block, order, columns, limit: limit(), offset: offset() }, inside);
  }
  const typed = checkBody(body, inside);
  const isPlain = query.orderBy.length === 0 && !query.limit && !query.offset;
  if (isPlain) return typed;
  const outer =
    typed.body.kind === 'setOperation' && isBare(typed) ? typed : wrapped(typed, inside);
  const order = checkOutputOrder(query.orderBy, outer.columns, inside);
  return complete({ ...outer, order, limit: limit(), offset: offset() }, inside);
}

function complete(query: Omit<TypedQuery, 'outerSlots'>, { statement }: Environment): TypedQuery {
  const typed: TypedQuery = { ...query, outerSlots: [] };
  statement.requireBounded(typed);
  return { ...typed, outerSlots: [...outerNeedsOf(typed).slots] };
}

function isBare({ order, limit, offset }: TypedQuery): boolean {
  return order.length === 0 && limit === undefined && offset === undefined;
}

/** A query that has its own order or limit, as the only relation of another query. */
function wrapped(query: TypedQuery, { statement }: Environment): TypedQuery {
  const slot = statement.newSlot();
  const items = columnsOfQuery(query.columns).map(
    ({ name, type, isNullable }, column): TypedExpression => {
      return { kind: 'column', slot, column, name, type, isNullable };
    },
  );
  const source = { kind: 'query', query, isBarrier: false, commonTable: undefined } as const;
  const block: TypedBlock = {
    kind: 'block',
    relations: [{ slot, name: '', source, security: undefined, isNullable: false }],
    joins: [],
    where: undefined,
    grouping: undefined,
    having: undefined,
    items,
    isDistinct: false,
  };
  const { columns } = query;
  return { body: block, order: [], limit: undefined, offset: undefined, columns, outerSlots: [] };
}

function checkBody(body: QueryBody, environment: Environment): TypedQuery {
  switch (body.kind) {
    case 'select': {
      const { block, columns, order } = checkSelect(body, [], environment);
      return complete(
        { body: block, columns, order, limit: undefined, offset: undefined },
        environment,
      );
    }
    case 'query':
      return checkQuery(body, environment);
    case 'values':
      return checkBody(bodyOfValues(body, environment), environment);
    case 'setOperation':
      return checkSetOperation(body, environment);
    case 'unsupported':
      throw refuse(body.message, body.span, environment);
    default:
      return unreachable(body);
  }
}

/** Both sides get the same types: literals adapt to the other side, numbers are promoted. */
function checkSetOperation(operation: SetOperation, environment: Environment): TypedQuery {
  const { operator, isAll, span } = operation;
  const left = checkBody(operation.left, environment);
  const right = checkBody(operation.right, environment);
  if (left.columns.length !== right.columns.length) {
    const message =
      `The sides of ${operator.toUpperCase()} have different numbers of columns: ` +
      `${left.columns.length} and ${right.columns.length}`;
    throw refuse(message, span, environment);
  }
  const types = left.columns.map(({ type }, at) => {
    const shared = sharedType(left, right, at, environment);
    if (shared !== undefined) return shared;
    const other = present(right.columns[at], 'both sides have as many columns');
    throw mismatch(other.type, type, operation.right.span, environment);
  });
  const sides = [left, right].map((side) => coerceQuery(side, types, environment));
  const [typedLeft, typedRight] = sides as [TypedQuery, TypedQuery];
  const columns = typedLeft.columns.map((column, at) => {
    const isNullable = column.isNullable || typedRight.columns[at]?.isNullable === true;
    return { ...column, isNullable };
  });
  const body = {
    kind: 'setOperation',
    operator,
    isAll,
    left: typedLeft,
    right: typedRight,
  } as const;
  return complete({ body, order: [], limit: undefined, offset: undefined, columns }, environment);
}

/** Returns `undefined` if the two columns have no common type. */
function sharedType(
  left: TypedQuery,
  right: TypedQuery,
  column: number,
  environment: Environment,
): AlgebraicType | undefined {
  const { statement } = environment;
  const ownType = present(left.columns[column], 'a column of the left side').type;
  const otherType = present(right.columns[column], 'a column of the right side').type;
  const leftItems = openItemsOf(left, column, statement);
  const rightItems = openItemsOf(right, column, statement);
  if (leftItems?.every(isFlexible)) return otherType;
  if (rightItems?.every(isFlexible)) return ownType;
  if (equalTypes(ownType, otherType, environment)) return ownType;
  const plain = (type: AlgebraicType): AlgebraicType =>
    optionInnerType(type, statement.typespace) ?? type;
  const [own, other] = [plain(ownType), plain(otherType)];
  if (equalTypes(own, other, environment)) return own;
  if (rightItems?.every((item) => isFlexible(item) || fits(item, own))) return own;
  if (leftItems?.every((item) => isFlexible(item) || fits(item, other))) return other;
  return promotedType(own, other);
}

/** Null and parameters fit any type. */
function isFlexible({ kind }: Expression): boolean {
  return kind === 'null' || kind === 'parameter';
}

/** Whether a literal can be read as a value of the other side's type. */
function fits(expression: Expression, type: AlgebraicType): boolean {
  switch (expression.kind) {
    case 'string':
      return !isNumericType(type) && encodeLiteralText(expression.text, type) !== undefined;
    case 'number':
      return isNumericType(type) && encodeLiteralText(expression.text, type) !== undefined;
    case 'hex':
      return encodeLiteralText(expression.text, type) !== undefined;
    default:
      return false;
  }
}

/** Each sees those before it; one that reads an outer query is evaluated again at every use. */
function checkCommonTables(
  { commonTables, isRecursive }: Query,
  environment: Environment,
): CommonTableList | undefined {
  requireDistinct(
    commonTables.map(({ name }) => name),
    (message, at) => refuse(message, present(commonTables[at], 'the second').span, environment),
  );
  let list = environment.commonTables;
  for (const written of commonTables) {
    const { name, columns = [], query, span } = written;
    const inside: Environment = {
      ...environment,
      commonTables: list,
      aliases: undefined,
      windows: undefined,
    };
    const check = (): TypedQuery => {
      const recursive = isRecursive ? checkRecursive(written, inside, checkBody) : undefined;
      if (recursive === undefined) return requireSettled(checkQuery(query, inside), environment);
      environment.statement.requireBounded(recursive);
      return recursive;
    };
    const typed = check();
    if (columns.length > typed.columns.length) {
      const message = namesFault(columns.length, typed.columns.length);
      throw refuse(message, span, environment);
    }
    const commonTable = environment.statement.newCommonTable();
    const shared: CommonTableUse = { query: typed, columns, commonTable };
    const isCorrelated = typed.outerSlots.length > 0;
    const table = (): CommonTableUse =>
      isCorrelated ? { query: check(), columns, commonTable: undefined } : shared;
    list = { name, table, outer: list };
  }
  return list;
}

/** LIMIT and OFFSET take no columns and no aggregates; the check of the dialect refused them. */
function checkRowCount(
  count: Expression | undefined,
  environment: Environment,
): TypedExpression | undefined {
  if (count === undefined) return undefined;
  const place: Environment = { ...environment, scope: emptyScope, aggregates: 'LIMIT' };
  if (count.kind === 'parameter') return environment.statement.parameter(count.name, u64Type, true);
  if (count.kind === 'null') {
    throw refuse(dialectTexts.literal('NULL'), count.span, environment);
  }
  if (isOpen(count)) return typeAs(count, u64Type, place);
  const typed = typeAlone(count, place);
  if (isIntegerType(typed.type)) return converted(typed, u64Type, place);
  throw mismatch(typed.type, u64Type, count.span, environment);
}
