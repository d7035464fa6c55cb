import { expect } from 'vitest';
import type { TableSpec } from '../../src/schema/catalog.ts';
import { type TableId, viewId } from '../../src/schema/ids.ts';
import { type CheckScope, check } from '../../src/sql/check/check.ts';
import type {
  OutputColumn,
  TypedBlock,
  TypedRead,
  TypedStatement,
} from '../../src/sql/check/typed.ts';
import { SqlFailure, type StatementError } from '../../src/sql/failure.ts';
import { ownerRights, strangerRights } from '../../src/sql/rights.ts';
import type { SqlSchema } from '../../src/sql/schema.ts';
import { parse } from '../../src/sql/syntax/parse.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { typeText } from '../../src/values/typespace.ts';
import { defaultsOf, type SampleTable, sampleCatalog } from './sample-tables.ts';

/** What the check is asked about in tests: samples, with views and filters by table name. */
export interface SampleSchema {
  readonly tables: readonly SampleTable[];
  readonly views?: readonly string[];
  readonly filters?: Readonly<Record<string, readonly string[]>>;
}

export function sampleSchema({ tables, views = [], filters = {} }: SampleSchema): SqlSchema {
  const catalog = sampleCatalog(...tables);
  const idOf = (name: string): TableId => named(catalog.tables, name).id;
  return {
    tables: catalog.tables,
    types: catalog.types,
    views: new Map(
      views.map((name) => [idOf(name), { id: viewId(idOf(name)), isAnonymous: false }]),
    ),
    defaults: new Map(tables.map((table) => [idOf(table.name), defaultsOf(table)])),
    filters: new Map(Object.entries(filters).map(([name, texts]) => [idOf(name), texts])),
  };
}

export function named(tables: readonly TableSpec[], name: string): TableSpec {
  const table = tables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new Error(`the sample has no table ${name}`);
  return table;
}

export const sampleIdentity =
  0xc200_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_00abn;

export type Who = 'owner' | 'stranger';

export function scopeFor(
  schema: SqlSchema,
  who: Who = 'owner',
  parameterNames: readonly string[] = [],
): CheckScope {
  return {
    schema,
    rights: who === 'owner' ? ownerRights : strangerRights,
    identity: callerIdentity(sampleIdentity),
    parameterNames: new Set(parameterNames),
  };
}

export function checked(sql: string, scope: CheckScope): TypedStatement {
  return check(parse(sql), scope);
}

export function checkedRead(sql: string, scope: CheckScope): TypedRead {
  const statement = checked(sql, scope);
  if (statement.kind !== 'read') throw new Error(`not a read: ${sql}`);
  return statement;
}

/** The one block of a query without set operations. */
export function checkedBlock(sql: string, scope: CheckScope): TypedBlock {
  return blockOf(checkedRead(sql, scope));
}

export function blockOf({ query }: TypedRead): TypedBlock {
  if (query.body.kind !== 'block') throw new Error('not a block');
  return query.body;
}

export function errorOf(run: () => unknown): StatementError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof SqlFailure) return error.error;
    throw error;
  }
}

export function refusal(run: () => unknown): string {
  return errorOf(run)?.message ?? 'ok';
}

/** Statements and what each is refused with; `ok` for those that are not. */
export function expectRefusals(
  cases: Readonly<Record<string, string>>,
  run: (sql: string) => unknown,
): void {
  for (const [sql, message] of Object.entries(cases)) {
    expect(
      refusal(() => run(sql)),
      sql,
    ).toBe(message);
  }
}

/** `n U64, total I64?` */
export function columnTexts(columns: readonly OutputColumn[]): string {
  return columns
    .map(({ name, type, isNullable }) => `${name} ${typeText(type)}${isNullable ? '?' : ''}`)
    .join(', ');
}

export function noTable(name: string): string {
  return `no such table: \`${name}\`. If the table exists, it may be marked private.`;
}

export function badLiteral(text: string, type: string): string {
  return `The literal expression \`${text}\` cannot be parsed as type \`${type}\``;
}

export function mismatch(actual: string, required: string): string {
  return `Unexpected type: (expected) ${actual} != ${required} (inferred)`;
}
