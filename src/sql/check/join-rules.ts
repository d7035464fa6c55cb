import { assert, present } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import { invalid } from '../failure.ts';
import type { SqlSchema } from '../schema.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { comparedColumn } from './conjuncts.ts';
import type { TypedColumn, TypedExpression, TypedQuery, TypedRelation } from './typed.ts';

/**
 * The requirements of `Subscribe` beyond being readable: at most two relations, and two are joined
 * by looking rows up in an index of one of them. Only that side needs an index.
 */
export function requireJoinRules(block: TypedQuery['body'], schema: SqlSchema): void {
  assert(block.kind === 'block', 'a fragment is one block');
  const { relations, joins, where } = block;
  if (relations.length > 2) {
    throw invalid(`Invalid number of tables in subscription: ${relations.length}`);
  }
  const [first, second] = relations;
  if (first === undefined || second === undefined) return;
  const pair = columnPair(joins[0]?.condition);
  if (pair === undefined) throw missingIndex();
  const filters = columnFilters(where);
  const isFiltered = (relation: TypedRelation): boolean =>
    schema.views.has(tableOf(relation).id) || filters.some(({ slot }) => slot === relation.slot);
  const probed = !isFiltered(first) && isFiltered(second) ? first : second;
  const table = tableOf(probed);
  const { column } = present(
    pair.find(({ slot }) => slot === probed.slot),
    'a column of each side',
  );
  const fixed = new Set(
    filters
      .filter(({ slot, operator }) => slot === probed.slot && operator === '=')
      .map((filter) => filter.column),
  );
  if (!isIndexed(table, column, fixed, schema.views.has(table.id))) throw missingIndex();
  if (table.isEvent) {
    throw invalid('Event tables cannot be used as the lookup table in subscription joins');
  }
}

function missingIndex(): Error {
  return invalid('Subscriptions require indexes on join columns');
}

function tableOf({ source }: TypedRelation): TableSpec {
  assert(source.kind === 'table', 'a fragment is about plain tables');
  return source.table;
}

function columnPair(condition: TypedExpression | undefined): readonly TypedColumn[] | undefined {
  if (condition?.kind !== 'comparison' || condition.operator !== '=') return undefined;
  const { left, right } = condition;
  return left.kind === 'column' && right.kind === 'column' ? [left, right] : undefined;
}

interface ColumnFilter {
  readonly slot: number;
  readonly column: number;
  readonly operator: ComparisonOperator;
}

/** The comparisons that must all hold of a column with a literal or the caller. */
function columnFilters(where: TypedExpression | undefined): readonly ColumnFilter[] {
  const terms = where?.kind === 'and' ? where.terms : where === undefined ? [] : [where];
  return terms.flatMap((term) => {
    if (term.kind === 'and') return columnFilters(term);
    if (term.kind !== 'comparison') return [];
    const { left, right, operator } = term;
    const own = comparedColumn(left);
    const column = own ?? comparedColumn(right);
    const other = own === undefined ? left : right;
    if (column === undefined) return [];
    if (other.kind !== 'constant' && other.kind !== 'parameter') return [];
    return [{ slot: column.slot, column: column.column, operator }];
  });
}

/** A view has only the index of its declared key; the rows of each caller are kept apart. */
function isIndexed(
  table: TableSpec,
  column: number,
  fixed: ReadonlySet<number>,
  isView: boolean,
): boolean {
  if (isView) return table.primaryKey === column;
  return table.indexes.some(({ columns }) => {
    const before = columns.slice(0, -1);
    return columns.at(-1) === column && before.every((other) => fixed.has(other));
  });
}
