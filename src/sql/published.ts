/** SQL texts that a module publishes: they are typed with the rights of its owner. */

import type { TableSpec } from '../schema/catalog.ts';
import type { TableId } from '../schema/ids.ts';
import type { ProductType } from '../values/type.ts';
import { typesEqual } from '../values/typespace.ts';
import { checkRowSelect } from './check/check-subscription.ts';
import { isCostlyUnion } from './check/row-security.ts';
import { shownType } from './check/shown-type.ts';
import { columnTypesOf, requireSubscriptionDialect } from './check/subscription-dialect.ts';
import type { TypedRead } from './check/typed.ts';
import { hasSender } from './check/written.ts';
import { invalid } from './failure.ts';
import { planStatement } from './plan/plan-statement.ts';
import { ownerRights } from './rights.ts';
import { type CompiledRead, compileRead } from './run/execution.ts';
import type { SqlSchema } from './schema.ts';
import { parse } from './syntax/parse.ts';

/**
 * A filter of row-level security: whole rows of exactly one public table, in the subscription
 * dialect, with any joins. Throws `SqlFailure`.
 */
export function checkFilter(text: string, schema: SqlSchema): { readonly tableId: TableId } {
  const { statement, source } = parse(text);
  const types = columnTypesOf(schema, ownerRights);
  const select = requireSubscriptionDialect(statement, { source, showsPlaces: true }, types);
  const { table } = checkRowSelect(select, source, { schema, rights: ownerRights }, false);
  if (table.access === 'private') {
    throw invalid(
      `Cannot define RLS rule on private table: ${table.name}. ` +
        'Please make table public if you wish to restrict access using RLS.',
    );
  }
  return { tableId: table.id };
}

/** The tables whose filters make reads slow, each with the number of its filters. */
export function costlyFilters({
  filters,
  tables,
}: SqlSchema): readonly { readonly table: TableSpec; readonly count: number }[] {
  return tables.flatMap((table) => {
    const texts = filters.get(table.id) ?? [];
    return isCostlyUnion(texts) ? [{ table, count: texts.length }] : [];
  });
}

/**
 * Makes the query of a view ready to run; its plan depends on no rows. `expected` is the type of
 * the view's rows. Throws `SqlFailure`.
 */
export function prepareViewQuery(
  text: string,
  schema: SqlSchema,
  expected: ProductType,
): CompiledRead {
  const types = { types: schema.types };
  return compileRead(planStatement(checkViewQuery(text, schema, expected), { types }), types);
}

/**
 * The query of a view that answers with one: as the owner, without filters, for rows of the type
 * that it declares, under the join rules of subscriptions. Throws `SqlFailure`.
 */
export function checkViewQuery(text: string, schema: SqlSchema, expected: ProductType): TypedRead {
  const { statement, source } = parse(text);
  const types = columnTypesOf(schema, ownerRights);
  const select = requireSubscriptionDialect(statement, { source, showsPlaces: true }, types);
  if (select.where !== undefined && hasSender(select.where)) {
    throw invalid('parameterized SQL is not supported for view materialization yet');
  }
  const scope = { schema, rights: ownerRights };
  const { table, fragments } = checkRowSelect(select, source, scope, false);
  const [read] = fragments;
  if (read === undefined || read.views.length > 0) {
    throw invalid('view definition cannot read from other views');
  }
  const typespace = { types: schema.types };
  const actual: ProductType = {
    kind: 'product',
    elements: table.columns.map(({ name, type }) => ({ name, type })),
  };
  if (!haveEqualTypes(actual, expected, schema)) {
    const [actualText, expectedText] = [actual, expected].map((type) => shownType(type, typespace));
    throw invalid(`query returns \`${actualText}\` but view expects \`${expectedText}\``);
  }
  checkRowSelect(select, source, scope, true);
  return read;
}

/** Compares rows by the types of their columns; names differ in spelling between module and SQL. */
function haveEqualTypes(actual: ProductType, expected: ProductType, schema: SqlSchema): boolean {
  if (actual.elements.length !== expected.elements.length) return false;
  return actual.elements.every(({ type }, at) => {
    const other = expected.elements[at]?.type;
    return other !== undefined && typesEqual(type, other, { types: schema.types });
  });
}
