import { present } from '../../assert.ts';
import type { Catalog } from '../../schema/catalog.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { QueryBudget } from '../../sql/budget.ts';
import { SqlFailure } from '../../sql/failure.ts';
import { ownerRights } from '../../sql/rights.ts';
import { checkStatement, prepare, startRead } from '../../sql/statement.ts';
import type { Store } from '../../store/store.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import { sqlSchemaOf } from '../sql-schema.ts';

/** Why a statement of an assertion cannot be tried; else whether it holds. */
export type AssertedStatement = { readonly fault: string } | { readonly holds: boolean };

export interface AssertedTables {
  readonly definition: ModuleDefinition;
  readonly catalog: Catalog;
  readonly store: Store;
  readonly owner: CallerIdentity;
  readonly now: () => number;
  readonly millisMax: number;
  readonly nowMicros: bigint;
}

/**
 * Runs the statement of an assertion as the owner, over the tables that a migration has made: it
 * holds if it gives one row with one column that is true.
 */
export function assertedStatement(sql: string, asked: AssertedTables): AssertedStatement {
  const { definition, catalog, store, owner, now, millisMax, nowMicros } = asked;
  const caller = { identity: owner, rights: ownerRights };
  // Filters are for others, and those of a definition in between may not fit its tables.
  const schema = sqlSchemaOf({ ...definition, rowLevelSecurity: [], submodules: [] }, catalog);
  const tables = {
    table: (id: Parameters<Store['table']>[0]) => present(store.table(id), 'table'),
  };
  try {
    const checked = checkStatement(sql, { schema, caller, parameterNames: new Set() });
    const prepared = prepare(checked, tables);
    if (prepared.kind !== 'read') return { fault: 'an assertion is a SELECT' };
    const parameters = new Map();
    const budget = new QueryBudget({ now, millisMax });
    const read = startRead(prepared, { tables, caller, parameters, budget, nowMicros });
    while (read.run() === 'paused');
    const { columns, rows, rowCount } = read.result();
    read.dispose();
    budget.release();
    const [column, ...others] = columns;
    if (others.length > 0 || column?.type.kind !== 'bool') {
      return { fault: 'an assertion selects one column of type Bool' };
    }
    return { holds: rowCount === 1 && rows[0] === 1 };
  } catch (error) {
    if (error instanceof SqlFailure) return { fault: error.message };
    throw error;
  }
}
