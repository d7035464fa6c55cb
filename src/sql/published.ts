/** SQL texts that a module publishes: they are typed with the rights of its owner. */

import type { TableSpec } from '../schema/catalog.ts';
import type { TableId } from '../schema/ids.ts';
import { identityToHex } from '../values/identity.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
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
import type { Select } from './syntax/ast.ts';
import { lex } from './syntax/lex.ts';
import { parse } from './syntax/parse.ts';
import type { SourceText } from './syntax/source-text.ts';

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
): { readonly typed: TypedRead; readonly compiled: CompiledRead } {
  const types = { types: schema.types };
  const typed = checkViewQuery(text, schema, expected);
  return { typed, compiled: compileRead(planStatement(typed, { types }), types) };
}

/**
 * The query of a view that answers with one: as the owner, without filters, for rows of the type
 * that it declares, under the join rules of subscriptions. Throws `SqlFailure`.
 */
export function checkViewQuery(text: string, schema: SqlSchema, expected: ProductType): TypedRead {
  const { select, source } = viewSelect(text, schema);
  if (select.where !== undefined && hasSender(select.where)) {
    throw invalid('parameterized SQL is not supported for view materialization yet');
  }
  return checkRows(select, source, { schema, expected });
}

/**
 * The query of a view for one caller, whose identity it may name, as a query that other callers can
 * have too: with `:sender` in the place of that identity. `text` has passed `checkViewQuery`.
 */
export function sharedViewText(text: string, sender: CallerIdentity): string {
  const digits = identityToHex(sender);
  let shared = '';
  let copied = 0;
  for (const token of lex(text)) {
    if (token.kind !== 'hex' || token.text.toLowerCase() !== digits) continue;
    shared += `${text.slice(copied, token.start)}:sender`;
    copied = token.end;
  }
  return shared + text.slice(copied);
}

/** Checks a shared text like `checkViewQuery`. Throws `SqlFailure`. */
export function checkSharedViewQuery(
  text: string,
  schema: SqlSchema,
  expected: ProductType,
): TypedRead {
  const { select, source } = viewSelect(text, schema);
  return checkRows(select, source, { schema, expected });
}

function viewSelect(text: string, schema: SqlSchema) {
  const { statement, source } = parse(text);
  const types = columnTypesOf(schema, ownerRights);
  const select = requireSubscriptionDialect(statement, { source, showsPlaces: true }, types);
  return { select, source };
}

function checkRows(
  select: Select,
  source: SourceText,
  { schema, expected }: { readonly schema: SqlSchema; readonly expected: ProductType },
): TypedRead {
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
