import { viewProgramOf } from '../../src/database/views/served-views.ts';
import { viewQueryRunner } from '../../src/database/views/view-query.ts';
import { replaceRows } from '../../src/database/views/view-rows.ts';
import { Store } from '../../src/store/store.ts';
import { Table } from '../../src/store/table.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import type { Value } from '../../src/values/value.ts';
import { type CoreUnderTest, rowsIn } from './core-under-test.ts';

/** The result of a fresh evaluation of a view, passed through a table of its own. */
export function freshRows(database: CoreUnderTest, name: string, caller: bigint): Value[] {
  const { program: served, store } = database.core;
  const { views } = viewProgramOf(served.runner, served.definition, served.sql);
  const view = [...views.values()].find((candidate) => candidate.name === name);
  if (view === undefined) throw new Error(`there is no view ${name}`);
  const sender = view.isAnonymous ? undefined : callerIdentity(caller);
  const outcome = served.runner.callView?.({ hookId: view.hookId, viewName: name, sender });
  const around = { store, clock: database.clock, statementMillisMax: 1_000 };
  const result =
    outcome?.kind === 'sql' ? viewQueryRunner(around)(outcome.text, view, sender) : outcome;
  if (result?.kind !== 'rows') throw new Error(`${name} gives no rows`);
  const table = new Table(view.table, { types: view.schema.types });
  const transaction = new Store({ tables: [], views: [], types: [], nextId: 1 }).begin();
  const fault = replaceRows(table, transaction, result);
  if (fault !== undefined) throw new Error(fault);
  return rowsIn(table);
}
