import { assert, present } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import { optionType } from '../../values/special-types.ts';
import { invalid } from '../failure.ts';
import type { Select, Span } from '../syntax/ast.ts';
import { parse } from '../syntax/parse.ts';
import type { SourceText } from '../syntax/source-text.ts';
import { checkSelect } from './check-select.ts';
import { boolType, detailOf, type Environment } from './context.ts';
import { columnsOfTable, emptyScope } from './scope.ts';
import { requireSubscriptionDialect } from './subscription-dialect.ts';
import { typeCondition } from './type-expression.ts';
import type {
  OutputColumn,
  RelationSource,
  TypedExpression,
  TypedQuery,
  TypedSetOperation,
} from './typed.ts';

/**
 * Row-level security. Every relation whose table has filters is replaced by the rows that they let
 * through; nothing that the caller writes around it sees any others.
 *
 * One filter over the table alone becomes a condition of the relation. All others become a derived
 * query: the union of the rows of every filter. A row that several let through appears once: a
 * filter leaves out what earlier ones let through, which keeps the index of each in use; if one of
 * them joins, equal rows of the union are dropped instead. Tables inside a filter have their own
 * filters; the table itself is read as it is.
 */
export interface Occurrence {
  readonly table: TableSpec;
  readonly slot: number;
  readonly name: string;
}

export interface Secured {
  readonly source: RelationSource;
  readonly security: TypedExpression | undefined;
}

export function secured(occurrence: Occurrence, span: Span, environment: Environment): Secured {
  const { table, slot } = occurrence;
  const filters = filtersOf(table, span, environment);
  const plain: RelationSource = { kind: 'table', table };
  const [only, second] = filters;
  if (only === undefined) return { source: plain, security: undefined };
  const inside = (filter: Filter): Environment => filterEnvironment(filter, table, environment);
  if (second === undefined && isOfOneTable(only)) {
    const { where } = only.select;
    const relation = { slot, name: returnedName(only), columns: columnsOfTable(table) };
    const scope = { relations: [{ ...relation, isNullable: false }], outer: undefined };
    const security = where && typeCondition(where, { ...inside(only), scope });
    return { source: plain, security };
  }
  const columns = rowColumns(table);
  const isDisjoint = filters.every(isOfOneTable);
  const [first, ...others] = filters.map((filter, at): TypedQuery => {
    const { block } = checkSelect(filter.select, [], inside(filter));
    const { slot: own } = present(block.relations[0], 'the relation of a filter');
    const earlier = isDisjoint ? filters.slice(0, at) : [];
    const left = earlier.map((one) => exclusion(one, { slot: own, table }, inside(one)));
    return queryOf({ ...block, where: allOf([...termsOf(block.where), ...left]) }, columns);
  });
  const query = others.reduce<TypedQuery>(
    (left, right) => queryOf(union(left, right, isDisjoint), columns),
    present(first, 'a filter'),
  );
  return {
    source: { kind: 'query', query, isBarrier: true, secured: table, commonTable: undefined },
    security: undefined,
  };
}

/**
 * Whether several filters of one table cost dropping equal rows and evaluating watched queries
 * again. Filters of the table alone leave out each other's rows instead.
 */
export function isCostlyUnion(texts: readonly string[]): boolean {
  const filters = texts.map((text) => parsedFilter(text));
  if (openOf(filters) !== undefined) return false;
  return filters.length > 1 && !filters.every(isOfOneTable);
}

export interface Filter {
  readonly select: Select;
  readonly source: SourceText;
}

/**
 * The filters that apply to a table in this place: none for callers who bypass them, and none for
 * the table itself directly inside one of its own filters.
 */
export function filtersOf(
  table: TableSpec,
  span: Span,
  environment: Environment,
): readonly Filter[] {
  const { statement, expanding } = environment;
  const texts = statement.schema.filters.get(table.id) ?? [];
  if (statement.rights.bypassesFilters || texts.length === 0) return [];
  if (expanding.at(-1) === table.id) return [];
  if (expanding.includes(table.id)) {
    throw invalid(
      `Discovered cyclic dependency when resolving RLS rules for table id \`${table.id}\``,
      detailOf(span, environment),
    );
  }
  const filters = texts.map((text) => parsedFilter(text));
  const open = openOf(filters);
  return open === undefined ? filters : [open];
}

/** A filter that lets every row through. */
function openOf(filters: readonly Filter[]): Filter | undefined {
  return filters.find((one) => isOfOneTable(one) && one.select.where === undefined);
}

/**
 * The condition that a filter of the table alone does not let a row of relation `slot` through. It
 * is never null: rows that a filter does not accept are hidden. `inside` is its environment.
 */
export function exclusion(
  filter: Filter,
  { slot, table }: Pick<Occurrence, 'slot' | 'table'>,
  inside: Environment,
): TypedExpression {
  const relation = { slot, name: returnedName(filter), columns: columnsOfTable(table) };
  const scope = { relations: [{ ...relation, isNullable: false }], outer: undefined };
  const where = present(filter.select.where, 'the condition of a filter');
  const condition = typeCondition(where, { ...inside, scope });
  const type = { type: boolType, isNullable: false };
  if (!condition.isNullable) return { kind: 'not', operand: condition, ...type };
  const right: TypedExpression = { kind: 'constant', bytes: Uint8Array.of(1), ...type };
  return { kind: 'isDistinct', left: condition, right, ...type };
}

function termsOf(condition: TypedExpression | undefined): readonly TypedExpression[] {
  if (condition === undefined) return [];
  return condition.kind === 'and' ? condition.terms : [condition];
}

export function allOf(conditions: readonly TypedExpression[]): TypedExpression | undefined {
  const terms = conditions.flatMap(termsOf);
  const [only, second] = terms;
  if (second === undefined) return only;
  const isNullable = terms.some((term) => term.isNullable);
  return { kind: 'and', terms, type: boolType, isNullable };
}

/** Where a filter of `table` is typed: with the names and the rights of the caller, no places. */
export function filterEnvironment(
  { source }: Filter,
  table: TableSpec,
  { statement, expanding }: Environment,
): Environment {
  return {
    statement,
    source,
    showsPlaces: false,
    scope: emptyScope,
    commonTables: undefined,
    aggregates: 'a filter',
    aliases: undefined,
    takesFields: false,
    expanding: [...expanding, table.id],
  };
}

export function isOfOneTable({ select }: Filter): boolean {
  return select.from?.joins.length === 0;
}

/** The name by which the filter calls the relation whose rows it returns. */
export function returnedName({ select }: { readonly select: Select }): string {
  const [item] = select.items;
  if (item?.kind === 'relation') return item.relation;
  const first = present(select.from, 'the dialect requires FROM').first;
  assert(first.kind === 'named', 'the dialect has only names of relations');
  return first.alias ?? first.name;
}

/** Whole rows of a table, as columns of an answer. */
export function rowColumns(table: TableSpec): readonly OutputColumn[] {
  return table.columns.map(({ name, type }) => ({ name, type, isNullable: false }));
}

export function queryOf(body: TypedQuery['body'], columns: readonly OutputColumn[]): TypedQuery {
  return { body, order: [], limit: undefined, offset: undefined, columns, outerSlots: [] };
}

/** The rows of overlapping filters are compared: a table never has a row twice. */
function union(left: TypedQuery, right: TypedQuery, isAll: boolean): TypedSetOperation {
  return { kind: 'setOperation', operator: 'union', isAll, left, right };
}

function parsedFilter(text: string): Filter {
  const { statement, source } = parse(text);
  const written = { source, showsPlaces: false };
  // When it was published, the types of its columns were known and looked at.
  const anOption = optionType(boolType);
  return { select: requireSubscriptionDialect(statement, written, () => anOption), source };
}
