import { unreachable } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import { aggregateNames } from '../functions/aggregate-names.ts';
import type { QueryValue } from '../functions/function.ts';
import { findFunction, functionNames } from '../functions/library.ts';
import { windowNames } from '../functions/windows.ts';
import type { ShowList } from '../syntax/ast.ts';
import { tableNamed } from './check-from.ts';
import { type ConstantColumn, constantRows, textColumns, truthType } from './constant-rows.ts';
import type { Environment, StatementContext } from './context.ts';
import { isOption, visibleTables } from './information-schema.ts';
import { readableType } from './readable-type.ts';
import type { TypedQuery } from './typed.ts';

/** What a caller may know of the schema. */
export function checkShowList(show: ShowList, environment: Environment): TypedQuery {
  const { statement } = environment;
  switch (show.what) {
    case 'tables':
      return constantRows(
        textColumns('name', 'kind', 'access'),
        visibleTables(statement)
          .filter(({ kind }) => kind !== 'system')
          .map(({ name, kind, access }) => [name, kind === 'view' ? 'view' : 'table', access]),
      );
    case 'columns': {
      const table = tableNamed({ name: show.table, span: show.tableSpan }, environment);
      const columns = [
        ...textColumns('name', 'type'),
        flag('nullable'),
        ...textColumns('key', 'extra'),
      ];
      return constantRows(columns, columnRows(table, statement));
    }
    case 'functions':
      return constantRows(textColumns('name', 'kind', 'signature'), functionRows());
    default:
      return unreachable(show.what);
  }
}

function columnRows(table: TableSpec, statement: StatementContext): QueryValue[][] {
  return table.columns.map(({ name, type }, at) => {
    const isDrawn = table.sequences.some(({ column }) => column === at);
    return [
      name,
      readableType(type, statement.typespace),
      isOption(type, statement),
      keyOf(table, at),
      isDrawn ? 'auto_increment' : '',
    ];
  });
}

function keyOf({ primaryKey, indexes, derivedIndexes }: TableSpec, column: number): string {
  if (primaryKey === column) return 'primary';
  const own = indexes.filter(({ columns }) => columns[0] === column);
  if (own.some(({ columns, isUnique }) => isUnique && columns.length === 1)) return 'unique';
  if (own.length > 0) return 'index';
  return derivedIndexes.find((index) => index.column === column)?.kind ?? '';
}

function functionRows(): QueryValue[][] {
  const plain = functionNames().flatMap((name) => {
    const signatures = findFunction(name)?.signatures ?? [];
    return signatures.map((signature) => [name, 'function', signature]);
  });
  const aggregates = [...aggregateNames].sort().map((name) => [name, 'aggregate', `${name}(…)`]);
  const windows = [...windowNames].sort().map((name) => [name, 'window', `${name}(…) OVER (…)`]);
  return [...plain, ...aggregates, ...windows];
}

function flag(name: string): ConstantColumn {
  return { name, type: truthType };
}
