import { limits } from '../../limits.ts';
import type { Expression, OrderItem, Select, SelectItem, Span } from '../syntax/ast.ts';
import { dialectTexts } from '../syntax/refusal.ts';
import { type CheckedFrom, checkFrom } from './check-from.ts';
import { applyGrouping, checkGroupingKeys, isGrouped } from './check-grouping.ts';
import { checkOrder } from './check-order.ts';
import {
  type Aggregates,
  type Environment,
  refuse,
  stringType,
  type WindowCalls,
} from './context.ts';
import { withOneNull } from './field.ts';
import { distinctNames, type ItemName, nameOfItem } from './output-names.ts';
import { columnsOfRelation } from './resolve-name.ts';
import { requireDistinct, type ScopeRelation } from './scope.ts';
import { typeAlone, typeCondition } from './type-expression.ts';
import { isOpen } from './type-literal.ts';
import type { OrderKey, OutputColumn, TypedBlock, TypedExpression } from './typed.ts';
import { visitExpression } from './typed-expression.ts';
import { nameHint } from './visibility.ts';
import { partsOfCalls, windowedBlock, withParts } from './windowing.ts';

export interface CheckedSelect {
  readonly block: TypedBlock;
  readonly columns: readonly OutputColumn[];
  readonly order: readonly OrderKey[];
}

/** One item of the SELECT list, with wildcards expanded. */
export interface TypedItem {
  readonly name: string;
  readonly expression: TypedExpression;
  readonly span: Span;
}

/**
 * Checks relations, then ON, WHERE, the list, GROUP BY, HAVING, ORDER BY. The clauses after WHERE
 * are first typed as if there were no groups; then everything that the groups compute is replaced
 * by its value.
 */
export function checkSelect(
  select: Select,
  orderBy: readonly OrderItem[],
  environment: Environment,
): CheckedSelect {
  requireShort(select.items, 'A SELECT list', environment);
  requireShort(select.groupBy, 'GROUP BY', environment);
  requireShort(orderBy, 'ORDER BY', environment);
  const from = checkFrom(select.from, environment);
  const place: Environment = { ...environment, scope: from.scope, aliases: undefined };
  const where = select.where && typeCondition(select.where, { ...place, aggregates: 'WHERE' });
  const aggregates: Aggregates = new Map();
  const windows: WindowCalls = { calls: new Map(), named: select.windows };
  const listPlace: Environment = { ...place, aggregates, windows };
  const items = checkItems(select.items, listPlace);
  const behind: Environment = { ...listPlace, aliases: aliasesOf(items, select.items) };
  const inGroups: Environment = { ...behind, windows: undefined };
  const keys = checkGroupingKeys(select.groupBy, items, inGroups);
  const having = select.having && typeCondition(select.having, inGroups);
  refuseWindows([...keys, ...(having === undefined ? [] : [having])], windows, select, place);
  const order = checkOrder(orderBy, { items, isDistinct: select.isDistinct }, behind);
  const inWindows = partsOfCalls(windows.calls).map((expression): TypedItem => {
    return { name: '', expression, span: select.span };
  });
  const listed = [...items, ...inWindows];
  const ungrouped: Ungrouped = { items: listed, having, havingSpan: select.having?.span, order };
  const grouped = isGrouped(select, aggregates)
    ? applyGrouping({ keys, aggregates, ...ungrouped, span: select.span }, place)
    : { ...ungrouped, items: listed.map(({ expression }) => expression), grouping: undefined };
  const columns = items.map(({ name }, at): OutputColumn => {
    const { type, isNullable } = grouped.items[at] as TypedExpression;
    return { name, type, isNullable };
  });
  const block: TypedBlock = {
    ...relationsOf(from),
    where,
    grouping: grouped.grouping,
    having: grouped.having,
    items: grouped.items.slice(0, items.length),
    isDistinct: select.isDistinct,
  };
  if (windows.calls.size === 0) return { block, columns, order: grouped.order };
  const calls = withParts(windows.calls, grouped.items.slice(items.length));
  return { ...windowedBlock({ block, order: grouped.order, calls }, place), columns };
}

/** By the alias of an item, GROUP BY and HAVING could name a window function. */
function refuseWindows(
  expressions: readonly TypedExpression[],
  { calls }: WindowCalls,
  { span }: Select,
  environment: Environment,
): void {
  for (const expression of expressions) {
    visitExpression(expression, (inner) => {
      if (!calls.has(inner)) return;
      const message = 'Window functions are not allowed in GROUP BY and HAVING';
      throw refuse(message, span, environment);
    });
  }
}

/** Items are compared with keys, pair by pair. */
function requireShort(
  list: readonly { readonly span: Span }[],
  what: string,
  environment: Environment,
): void {
  const over = list[limits.columnCountMax];
  if (over === undefined) return;
  throw refuse(`${what} has at most ${limits.columnCountMax} items`, over.span, environment);
}

interface Ungrouped {
  readonly items: readonly TypedItem[];
  readonly having: TypedExpression | undefined;
  readonly havingSpan: Span | undefined;
  readonly order: readonly OrderKey[];
}

function relationsOf({ relations, joins }: CheckedFrom) {
  return { kind: 'block', relations, joins } as const;
}

/** Types a SELECT list, or the list of RETURNING. */
export function checkItems(
  items: readonly SelectItem[],
  environment: Environment,
): readonly TypedItem[] {
  const [only] = items;
  if (only !== undefined && only.kind !== 'expression') return wholeRow(only, environment);
  const names: ItemName[] = [];
  const expressions: TypedExpression[] = [];
  for (const [at, item] of items.entries()) {
    if (item.kind !== 'expression') {
      throw refuse(dialectTexts.mixedWildcards, item.span, environment);
    }
    names.push(nameOfItem(item, at));
    expressions.push(typeItem(item.expression, environment));
  }
  const written = items.filter((_, at) => names[at]?.isWritten === true);
  requireDistinct(
    names.flatMap(({ text, isWritten }) => (isWritten ? [text] : [])),
    (message, at) => refuse(message, (written[at] as SelectItem).span, environment),
  );
  const distinct = distinctNames(names);
  return expressions.map((expression, at) => {
    const { span } = items[at] as SelectItem;
    return { name: distinct[at] as string, expression, span };
  });
}

function wholeRow(
  item: Exclude<SelectItem, { readonly kind: 'expression' }>,
  environment: Environment,
): readonly TypedItem[] {
  const { relations } = environment.scope;
  const [first, second] = relations;
  let relation: ScopeRelation | undefined = first;
  if (item.kind === 'relation') {
    relation = relations.find(({ name }) => name === item.relation);
    if (relation === undefined) {
      const hint = nameHint(
        item.relation,
        relations.map(({ name }) => name),
      );
      throw refuse(`\`${item.relation}\` is not in scope`, item.span, environment, hint);
    }
  } else if (second !== undefined) {
    const hint = `Write \`${first?.name}.*\`, or name the columns`;
    throw refuse('SELECT * is not supported for joins', item.span, environment, hint);
  }
  if (relation === undefined) throw refuse(dialectTexts.noFrom, item.span, environment);
  return columnsOfRelation(relation, environment).map((column) => {
    return { name: column.name, expression: withOneNull(column, environment), span: item.span };
  });
}

/**
 * The type of a literal, null or parameter stays open for what the query is combined with. Until
 * then a parameter has no type: nothing must take its placeholder out of the list.
 */
function typeItem(expression: Expression, environment: Environment): TypedExpression {
  if (!isOpen(expression)) return withOneNull(typeAlone(expression, environment), environment);
  const { openItems } = environment.statement;
  const typed: TypedExpression =
    expression.kind === 'parameter'
      ? { kind: 'parameter', parameter: -1, type: stringType, isNullable: true }
      : typeAlone(expression, environment);
  openItems.set(typed, { expression, environment });
  return typed;
}

/** The name by which GROUP BY, HAVING and ORDER BY can refer to an item: as it was written. */
function aliasesOf(
  items: readonly TypedItem[],
  written: readonly SelectItem[],
): ReadonlyMap<string, TypedExpression> {
  const aliases = new Map<string, TypedExpression>();
  for (const { name, expression } of items) aliases.set(name, expression);
  return written.some((item) => item.kind !== 'expression') ? new Map() : aliases;
}
