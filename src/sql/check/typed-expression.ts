import { unreachable } from '../../assert.ts';
import type {
  OutputColumn,
  TypedBlock,
  TypedExpression,
  TypedQuery,
  TypedRelation,
} from './typed.ts';

/** Walking, rewriting and judging typed expressions. Nothing here knows how they are evaluated. */
export type TypedSubquery = Extract<TypedExpression, { readonly kind: 'subquery' }>;

/** The operands of an expression, not including the query of a subquery. */
export function operandsOf(expression: TypedExpression): readonly TypedExpression[] {
  switch (expression.kind) {
    case 'column':
    case 'constant':
    case 'parameter':
    case 'value':
      return [];
    case 'comparison':
    case 'isDistinct':
    case 'arithmetic':
      return [expression.left, expression.right];
    case 'and':
    case 'or':
      return expression.terms;
    case 'not':
    case 'isNull':
    case 'negate':
    case 'convert':
    case 'field':
    case 'variant':
      return [expression.operand];
    case 'inList':
      return [expression.operand, ...expression.values];
    case 'like': {
      const { operand, pattern, escape: last } = expression;
      return last === undefined ? [operand, pattern] : [operand, pattern, last];
    }
    case 'case': {
      const branches = expression.branches.flatMap(({ when, then }) => [when, then]);
      return expression.otherwise === undefined ? branches : [...branches, expression.otherwise];
    }
    case 'call':
      return expression.arguments;
    case 'subquery':
      return expression.operand === undefined ? [] : [expression.operand];
    default:
      return unreachable(expression);
  }
}

/** Decides about one expression; `undefined` leaves the decision to its operands. */
type Replacement = (expression: TypedExpression) => TypedExpression | undefined;

/** Rewrites from the top down, including queries inside. Replacements are not visited. */
export function mapExpression(e: TypedExpression, replace: Replacement): TypedExpression {
  const replaced = replace(e);
  if (replaced !== undefined) return replaced;
  const map = (operand: TypedExpression): TypedExpression => mapExpression(operand, replace);
  switch (e.kind) {
    case 'column':
    case 'constant':
    case 'parameter':
    case 'value':
      return e;
    case 'comparison':
    case 'isDistinct':
    case 'arithmetic':
      return { ...e, left: map(e.left), right: map(e.right) };
    case 'and':
    case 'or':
      return { ...e, terms: e.terms.map(map) };
    case 'not':
    case 'isNull':
    case 'negate':
    case 'convert':
    case 'field':
    case 'variant':
      return { ...e, operand: map(e.operand) };
    case 'inList':
      return { ...e, operand: map(e.operand), values: e.values.map(map) };
    case 'like': {
      const last = e.escape && map(e.escape);
      return { ...e, operand: map(e.operand), pattern: map(e.pattern), escape: last };
    }
    case 'case': {
      const branches = e.branches.map((branch) => ({
        when: map(branch.when),
        // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is no promise.
        then: map(branch.then),
      }));
      return { ...e, branches, otherwise: e.otherwise && map(e.otherwise) };
    }
    case 'call':
      return { ...e, arguments: e.arguments.map(map) };
    case 'subquery': {
      const operand = e.operand === undefined ? undefined : map(e.operand);
      return { ...e, operand, query: mapQuery(e.query, replace) };
    }
    default:
      return unreachable(e);
  }
}

export function mapQuery(query: TypedQuery, replace: Replacement): TypedQuery {
  const map = (e: TypedExpression): TypedExpression => mapExpression(e, replace);
  return {
    ...query,
    body: mapBody(query.body, replace),
    order: query.order.map((order) => {
      const { key } = order;
      if (key.kind === 'output') return order;
      return { ...order, key: { ...key, expression: map(key.expression) } };
    }),
    limit: query.limit && map(query.limit),
    offset: query.offset && map(query.offset),
  };
}

function mapBody(body: TypedQuery['body'], replace: Replacement): TypedQuery['body'] {
  switch (body.kind) {
    case 'block':
      return mapBlock(body, replace);
    case 'setOperation':
      return { ...body, left: mapQuery(body.left, replace), right: mapQuery(body.right, replace) };
    case 'window':
      return { ...body, input: mapQuery(body.input, replace) };
    case 'recursive':
      return { ...body, base: mapQuery(body.base, replace), step: mapQuery(body.step, replace) };
    case 'working':
      return body;
    case 'elements':
      return { ...body, array: mapExpression(body.array, replace) };
    default:
      return unreachable(body);
  }
}

function mapBlock(block: TypedBlock, replace: Replacement): TypedBlock {
  const map = (e: TypedExpression): TypedExpression => mapExpression(e, replace);
  const { grouping } = block;
  return {
    ...block,
    relations: block.relations.map((relation) => mapRelation(relation, replace)),
    joins: block.joins.map((join) => ({
      ...join,
      condition: join.condition && map(join.condition),
    })),
    where: block.where && map(block.where),
    grouping: grouping && {
      ...grouping,
      keys: grouping.keys.map(map),
      aggregates: grouping.aggregates.map((aggregate) => ({
        ...aggregate,
        argument: aggregate.argument && map(aggregate.argument),
      })),
    },
    having: block.having && map(block.having),
    items: block.items.map(map),
  };
}

function mapRelation(relation: TypedRelation, replace: Replacement): TypedRelation {
  const { source, security } = relation;
  return {
    ...relation,
    security: security && mapExpression(security, replace),
    source:
      source.kind === 'table' ? source : { ...source, query: mapQuery(source.query, replace) },
  };
}

/** Visits every expression inside, each before its operands, including queries. */
export function visitExpression(
  expression: TypedExpression,
  visit: (expression: TypedExpression) => void,
): void {
  visit(expression);
  for (const operand of operandsOf(expression)) visitExpression(operand, visit);
  if (expression.kind === 'subquery') visitQuery(expression.query, visit);
}

/** `visitRelation` returns whether to visit the query that a relation stands for. */
export function visitQuery(
  query: TypedQuery,
  visit: (expression: TypedExpression) => void,
  visitRelation?: (relation: TypedRelation) => boolean,
): void {
  const walk = (e: TypedExpression | undefined): void => {
    if (e !== undefined) visitExpression(e, visit);
  };
  const { body } = query;
  for (const part of partsOfBody(body)) visitQuery(part, visit, visitRelation);
  if (body.kind === 'elements') walk(body.array);
  if (body.kind === 'block') {
    for (const relation of body.relations) {
      const isEntered = visitRelation?.(relation) ?? true;
      walk(relation.security);
      if (isEntered && relation.source.kind === 'query') {
        visitQuery(relation.source.query, visit, visitRelation);
      }
    }
    for (const { condition } of body.joins) walk(condition);
    walk(body.where);
    for (const key of body.grouping?.keys ?? []) walk(key);
    for (const { argument } of body.grouping?.aggregates ?? []) walk(argument);
    walk(body.having);
    for (const item of body.items) walk(item);
  }
  for (const { key } of query.order) if (key.kind === 'expression') walk(key.expression);
  walk(query.limit);
  walk(query.offset);
}

/** The queries that a body combines; a block has none of them. */
function partsOfBody(body: TypedQuery['body']): readonly TypedQuery[] {
  switch (body.kind) {
    case 'block':
    case 'working':
    case 'elements':
      return [];
    case 'setOperation':
      return [body.left, body.right];
    case 'window':
      return [body.input];
    case 'recursive':
      return [body.base, body.step];
    default:
      return unreachable(body);
  }
}

/** What an expression or query needs from outside of itself. */
export interface Needs {
  readonly slots: ReadonlySet<number>;
  readonly values: ReadonlySet<number>;
}

const nothingNeeded: Needs = { slots: new Set(), values: new Set() };
const knownNeeds = new WeakMap<TypedExpression | TypedQuery, Needs>();

/** Slots and values that must exist before the expression can be evaluated. */
export function needsOf(expression: TypedExpression): Needs {
  const known = knownNeeds.get(expression);
  if (known !== undefined) return known;
  const needs = findNeeds(expression);
  knownNeeds.set(expression, needs);
  return needs;
}

function findNeeds(expression: TypedExpression): Needs {
  switch (expression.kind) {
    case 'column':
      return { slots: new Set([expression.slot]), values: nothingNeeded.values };
    case 'value':
      return { slots: nothingNeeded.slots, values: new Set([expression.value]) };
    default: {
      const parts = operandsOf(expression).map(needsOf);
      return together(
        expression.kind === 'subquery' ? [...parts, outerNeedsOf(expression.query)] : parts,
      );
    }
  }
}

function together(parts: readonly Needs[]): Needs {
  const needed = parts.filter((part) => !isFree(part));
  const [first] = needed;
  if (first === undefined) return nothingNeeded;
  if (needed.length === 1) return first;
  const slots = new Set<number>();
  const values = new Set<number>();
  for (const part of needed) {
    for (const slot of part.slots) slots.add(slot);
    for (const value of part.values) values.add(value);
  }
  return { slots, values };
}

/** The query that is only this body, without an order or a limit. */
export function queryOf(body: TypedQuery['body'], columns: readonly OutputColumn[]): TypedQuery {
  const query: TypedQuery = {
    body,
    order: [],
    limit: undefined,
    offset: undefined,
    columns,
    outerSlots: [],
  };
  return { ...query, outerSlots: [...outerNeedsOf(query).slots] };
}

/** Needs of a query that are filled outside of it. Each common table is visited once. */
export function outerNeedsOf(query: TypedQuery): Needs {
  const known = knownNeeds.get(query);
  if (known !== undefined) return known;
  const { body, limit, offset } = query;
  const parts: Needs[] = [];
  const add = (e: TypedExpression | undefined): void => {
    if (e !== undefined) parts.push(needsOf(e));
  };
  parts.push(...partsOfBody(body).map(outerNeedsOf));
  if (body.kind === 'working') parts.push({ ...nothingNeeded, slots: new Set([body.slot]) });
  if (body.kind === 'elements') add(body.array);
  if (body.kind === 'block') needsInBlock(body, parts, add);
  for (const { key } of query.order) if (key.kind === 'expression') add(key.expression);
  add(limit);
  add(offset);
  const all = together(parts);
  const needs = isFree(all) ? all : withoutOwn(all, body);
  knownNeeds.set(query, needs);
  return needs;
}

function needsInBlock(
  { relations, joins, where, grouping, having, items }: TypedBlock,
  parts: Needs[],
  add: (e: TypedExpression | undefined) => void,
): void {
  for (const { source, security } of relations) {
    add(security);
    if (source.kind === 'query') parts.push(outerNeedsOf(source.query));
  }
  for (const { condition } of joins) add(condition);
  add(where);
  for (const key of grouping?.keys ?? []) add(key);
  for (const { argument } of grouping?.aggregates ?? []) add(argument);
  add(having);
  for (const item of items) add(item);
}

function withoutOwn(needs: Needs, body: TypedQuery['body']): Needs {
  if (body.kind === 'recursive') {
    return { ...needs, slots: new Set([...needs.slots].filter((slot) => slot !== body.slot)) };
  }
  return body.kind === 'block' ? withoutFilled(needs, body) : needs;
}

function withoutFilled({ slots, values }: Needs, { relations, grouping }: TypedBlock): Needs {
  const own = new Set(relations.map(({ slot }) => slot));
  const first = grouping?.firstValue ?? 0;
  const end = first + (grouping ? grouping.keys.length + grouping.aggregates.length : 0);
  return {
    slots: new Set([...slots].filter((slot) => !own.has(slot))),
    values: new Set([...values].filter((value) => value < first || value >= end)),
  };
}

/** Every slot and value that the query itself fills, at any depth. */
export function addOwn(query: TypedQuery, slots: Set<number>, values: Set<number>): void {
  const { body } = query;
  for (const part of partsOfBody(body)) addOwn(part, slots, values);
  if (body.kind === 'recursive') slots.add(body.slot);
  if (body.kind !== 'block') return;
  for (const { slot, source } of body.relations) {
    slots.add(slot);
    if (source.kind === 'query') addOwn(source.query, slots, values);
  }
  const { grouping } = body;
  if (grouping === undefined) return;
  const count = grouping.keys.length + grouping.aggregates.length;
  for (let at = 0; at < count; at++) values.add(grouping.firstValue + at);
}

export function isFree({ slots, values }: Needs): boolean {
  return slots.size === 0 && values.size === 0;
}

export function hasSubquery(expression: TypedExpression): boolean {
  if (expression.kind === 'subquery') return true;
  return operandsOf(expression).some(hasSubquery);
}

/** Whether it has a subquery that is evaluated again for other rows. */
export function hasCorrelation(expression: TypedExpression): boolean {
  if (expression.kind === 'subquery' && !isFree(outerNeedsOf(expression.query))) return true;
  return operandsOf(expression).some(hasCorrelation);
}

/** True when the request alone decides its value: constants, parameters, functions of them. */
export function isRequestValue(expression: TypedExpression): boolean {
  return !hasSubquery(expression) && isFree(needsOf(expression));
}
