import type { RandomSchema, RandomTable } from './random-schema.ts';
import {
  type Body,
  type Expression,
  isExpression,
  isQuery,
  type Part,
  type Query,
  type Select,
  type Source,
  type Statement,
  statementText,
  type Write,
} from './tree.ts';

/** A statement and the tables that it is asked of. */
export interface Case {
  readonly schema: RandomSchema;
  readonly statement: Statement;
}

/**
 * The smallest case that still fails, as far as leaving out parts and rows goes. `fails` says
 * whether a case fails in the same way as the first.
 */
export async function shrink(
  given: Case,
  fails: (candidate: Case) => Promise<boolean>,
): Promise<Case> {
  let best = given;
  let attempts = 600;
  for (;;) {
    const smaller = await firstFailing(best, fails, () => attempts-- > 0);
    if (smaller === undefined) return best;
    best = smaller;
  }
}

async function firstFailing(
  best: Case,
  fails: (candidate: Case) => Promise<boolean>,
  mayTry: () => boolean,
): Promise<Case | undefined> {
  for (const candidate of smallerCases(best)) {
    if (!mayTry()) return undefined;
    if (await fails(candidate)) return candidate;
  }
  return undefined;
}

function* smallerCases({ schema, statement }: Case): Generator<Case> {
  for (const smaller of smallerSchemas(schema, statement)) yield { schema: smaller, statement };
  const smaller = isQuery(statement) ? smallerQueries(statement) : smallerWrites(statement);
  for (const next of smaller) yield { schema, statement: next };
}

function* smallerSchemas(schema: RandomSchema, statement: Statement): Generator<RandomSchema> {
  const text = statementText(statement, 'ours');
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(text);
  const used = schema.filter(({ name }) => isNamed(name));
  if (used.length < schema.length && used.length > 0) yield used;
  for (const [at, table] of schema.entries()) {
    for (const smaller of smallerTables(table, isNamed)) yield schema.with(at, smaller);
  }
}

function* smallerTables(
  table: RandomTable,
  isNamed: (name: string) => boolean,
): Generator<RandomTable> {
  const { rows, columns, indexes } = table;
  for (
    let size = Math.ceil(rows.length / 2);
    size > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < rows.length; from += size) {
      yield { ...table, rows: rows.filter((_, at) => at < from || at >= from + size) };
    }
  }
  for (const index of indexes) {
    if (!index.startsWith('unique:')) {
      yield { ...table, indexes: indexes.filter((other) => other !== index) };
    }
  }
  const isIndexed = (name: string) =>
    indexes.some((index) => index.split(':').at(-1)?.split(',').includes(name));
  for (const [at, { name }] of columns.entries()) {
    if (columns.length === 1 || isNamed(name) || isIndexed(name)) continue;
    const without = rows.map((row) => row.toSpliced(at, 1));
    // Rows must stay different: tables are sets.
    if (new Set(without.map((row) => row.join('\u0000'))).size < rows.length) continue;
    yield { ...table, columns: columns.toSpliced(at, 1), rows: without };
  }
}

function* smallerQueries(query: Query, mayDropItems = true): Generator<Query> {
  const { commonTables, body, orderBy, limit, offset } = query;
  if (limit !== undefined || offset !== undefined) {
    yield { ...query, limit: undefined, offset: undefined };
    if (offset !== undefined) yield { ...query, offset: undefined };
  }
  if (orderBy.length > 0 && limit === undefined && offset === undefined) {
    yield { ...query, orderBy: [] };
    for (const at of orderBy.keys()) yield { ...query, orderBy: orderBy.toSpliced(at, 1) };
  }
  for (const [at, common] of commonTables.entries()) {
    yield { ...query, commonTables: commonTables.toSpliced(at, 1) };
    for (const smaller of smallerQueries(common.query, false)) {
      yield { ...query, commonTables: commonTables.with(at, { ...common, query: smaller }) };
    }
  }
  const isFree = mayDropItems && orderBy.length === 0;
  for (const smaller of smallerBodies(body, isFree)) yield { ...query, body: smaller };
}

function* smallerBodies(body: Body, mayDropItems: boolean): Generator<Body> {
  if (body.kind === 'select') {
    yield* smallerSelects(body, mayDropItems);
    return;
  }
  yield body.left;
  yield body.right;
  for (const left of smallerBodies(body.left, false)) yield { ...body, left };
  for (const right of smallerBodies(body.right, false)) yield { ...body, right };
}

function* smallerSelects(select: Select, mayDropItems: boolean): Generator<Select> {
  const { items, from, where, groupBy, having, isDistinct, star } = select;
  if (where !== undefined) yield { ...select, where: undefined };
  if (having !== undefined) yield { ...select, having: undefined };
  if (isDistinct) yield { ...select, isDistinct: false };
  if (from.length > 1) {
    for (const at of from.keys()) {
      if (at > 0) yield { ...select, from: from.toSpliced(at, 1) };
    }
    yield {
      ...select,
      from: from.slice(1).map((source, at) => (at === 0 ? asFirst(source) : source)),
    };
  }
  if (mayDropItems && items.length > 1 && star === undefined) {
    for (const at of items.keys()) yield { ...select, items: items.toSpliced(at, 1) };
  }
  for (const at of groupBy.keys()) yield { ...select, groupBy: groupBy.toSpliced(at, 1) };
  for (const smaller of smallerOf(where)) yield { ...select, where: smaller };
  for (const smaller of smallerOf(having)) yield { ...select, having: smaller };
  for (const [at, source] of from.entries()) {
    for (const smaller of smallerSources(source)) yield { ...select, from: from.with(at, smaller) };
  }
  if (star !== undefined) return;
  for (const [at, item] of items.entries()) {
    for (const expression of smallerOf(item.expression)) {
      yield { ...select, items: items.with(at, { ...item, expression }) };
    }
  }
}

function asFirst(source: Source): Source {
  return { ...source, join: 'first', on: undefined };
}

function* smallerSources(source: Source): Generator<Source> {
  if (source.join.startsWith('LEFT')) yield { ...source, join: 'JOIN' };
  if (source.on !== undefined && !source.join.startsWith('LEFT')) {
    yield { ...source, join: 'CROSS JOIN', on: undefined };
  }
  for (const on of smallerOf(source.on)) yield { ...source, on };
  const { relation } = source;
  if (typeof relation === 'object' && !isQuery(relation) && relation.elements.length > 1) {
    for (const at of relation.elements.keys()) {
      yield { ...source, relation: { ...relation, elements: relation.elements.toSpliced(at, 1) } };
    }
  }
  if (!isQuery(source.relation)) return;
  for (const relation of smallerQueries(source.relation, false)) yield { ...source, relation };
}

function* smallerWrites(write: Write): Generator<Write> {
  if (write.returning.length > 0) {
    yield { ...write, returning: [] };
    for (const at of write.returning.keys()) {
      if (write.returning.length > 1)
        yield { ...write, returning: write.returning.toSpliced(at, 1) };
    }
    for (const [at, item] of write.returning.entries()) {
      for (const expression of smallerOf(item.expression)) {
        yield { ...write, returning: write.returning.with(at, { ...item, expression }) };
      }
    }
  }
  if (write.kind === 'insert') {
    const { source } = write;
    if (isQuery(source)) {
      for (const smaller of smallerQueries(source, false)) yield { ...write, source: smaller };
    } else if (source.length > 1) {
      for (const at of source.keys()) yield { ...write, source: source.toSpliced(at, 1) };
    }
    return;
  }
  if (write.where !== undefined) yield { ...write, where: undefined };
  for (const where of smallerOf(write.where)) yield { ...write, where };
  if (write.kind === 'delete') return;
  const { assignments } = write;
  for (const [at, assignment] of assignments.entries()) {
    if (assignments.length > 1) yield { ...write, assignments: assignments.toSpliced(at, 1) };
    for (const value of smallerOf(assignment.value)) {
      yield { ...write, assignments: assignments.with(at, { ...assignment, value }) };
    }
  }
}

/** Parts of the same kind in its place, then the same with a smaller part. */
function* smallerOf(given: Expression | undefined): Generator<Expression> {
  if (given === undefined) return;
  const { parts, kind } = given;
  for (const part of inside(parts)) {
    if (part.kind === kind && part !== given) yield part;
  }
  for (const [at, part] of parts.entries()) {
    for (const smaller of smallerParts(part)) yield { ...given, parts: parts.with(at, smaller) };
  }
}

function* inside(parts: readonly Part[]): Generator<Expression> {
  for (const part of parts) {
    if (!isExpression(part)) continue;
    yield part;
    yield* inside(part.parts);
  }
}

function* smallerParts(part: Part): Generator<Part> {
  if (isExpression(part)) yield* smallerOf(part);
  if (isQuery(part)) yield* smallerQueries(part, false);
}
