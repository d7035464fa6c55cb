import { limits } from '../limits.ts';
import type { ProductType } from '../values/type.ts';
import type { ColumnDefinition, TableDefinition } from './definition.ts';
import { encodingProblem } from './encoding-problem.ts';
import { missingColumnName } from './names.ts';
import { Namespace } from './problems.ts';
import type { RawTable } from './raw-module.ts';
import {
  canonicalTableName,
  columnCountText,
  reservedNameText,
  type Scope,
  sharedNameText,
} from './scope.ts';
import { systemTableIds } from './system-tables.ts';
import {
  checkConstraintIndexes,
  checkPrimaryKey,
  type DraftTable,
  validateConstraints,
  validateIndexes,
  validateSequences,
} from './validate-table-parts.ts';

/**
 * Tables without their schedules and derived indexes, in declared order; one with a broken row type
 * is left out.
 */
export function validateTables(scope: Scope): TableDefinition[] {
  for (const name of scope.raw.strayDefaultTables) scope.problems.report(`Table ${name} not found`);
  return scope.raw.tables.flatMap((raw) => validateTable(scope, raw) ?? []);
}

function validateTable(scope: Scope, raw: RawTable): TableDefinition | undefined {
  const { problems } = scope;
  const name = canonicalTableName(scope, raw.sourceName);
  problems.checkIdentifiers(raw.sourceName, name);
  scope.entities.claim(raw.sourceName, name);
  if (isReserved(name, raw.tableType)) {
    problems.report(reservedNameText(name));
  }
  const columns = validateColumns(scope, raw, name);
  if (columns === undefined) return undefined;
  const draft: DraftTable = { name, columns, raw };
  const constraints = validateConstraints(scope, draft);
  const indexes = validateIndexes(scope, draft, constraints);
  checkConstraintIndexes(scope, draft, constraints, indexes);
  return {
    name,
    sourceName: raw.sourceName,
    rowTypeRef: raw.rowTypeRef,
    columns,
    primaryKey: checkPrimaryKey(scope, draft, constraints),
    indexes,
    constraints,
    sequences: validateSequences(scope, draft),
    derivedIndexes: [],
    schedule: undefined,
    tableType: raw.tableType,
    access: raw.access,
    isEvent: raw.isEvent,
  };
}

function isReserved(name: string, tableType: RawTable['tableType']): boolean {
  return systemTableIds.has(name) || (tableType !== 'system' && name.startsWith('st_'));
}

function validateColumns(
  scope: Scope,
  raw: RawTable,
  table: string,
): ColumnDefinition[] | undefined {
  const { problems, typespace } = scope;
  const rowType = typespace.types[raw.rowTypeRef];
  const sourceType = scope.raw.typespace.types[raw.rowTypeRef];
  if (rowType?.kind !== 'product' || sourceType?.kind !== 'product') {
    problems.report(`Table ${table} has invalid product_type_ref ${raw.rowTypeRef}`);
    return undefined;
  }
  if (rowType.elements.length > limits.columnCountMax) {
    problems.report(columnCountText(`table \`${table}\``, rowType.elements.length));
  }
  const names = new Namespace(problems, sharedNameText);
  const columns = rowType.elements.map(({ name, type }, position) => {
    const sourceName = sourceType.elements[position]?.name;
    if (sourceName === undefined || name === undefined) {
      problems.report(`table \`${table}\` has unnamed column \`${position}\`, which is forbidden.`);
    } else {
      problems.checkIdentifiers(sourceName, name);
      names.claim(name);
    }
    const column = name ?? missingColumnName(position);
    if (!scope.types.isDefinition(raw.rowTypeRef)) {
      scope.types.checkUse(type, `table \`${table}\` column \`${column}\``);
    }
    return { name: column, sourceName: sourceName ?? column, type };
  });
  const defaults = validateDefaults(scope, raw, table, rowType);
  return columns.map((column, position) => ({ ...column, defaultBytes: defaults.get(position) }));
}

/** Default values by column position. In version 10 the last one for a column counts. */
function validateDefaults(
  scope: Scope,
  raw: RawTable,
  table: string,
  rowType: ProductType,
): Map<number, Uint8Array> {
  const { problems } = scope;
  const defaults = new Map<number, Uint8Array>();
  for (const { column, value } of raw.defaultValues) {
    const element = rowType.elements[column];
    const columnName = element?.name ?? String(column);
    if (element === undefined) {
      const text = `referenced by def default value not found in table \`${table}\``;
      problems.report(`column \`${column}\` ${text}`);
      continue;
    }
    if (scope.raw.version === 9 && defaults.has(column)) {
      problems.report(`Multiple default values for table ${table} column ${columnName}`);
    }
    const problem = encodingProblem(element.type, scope, value);
    if (problem !== undefined) {
      const where = `table ${table} column ${columnName}`;
      problems.report(`Failed to deserialize default value for ${where}: ${problem}`);
    }
    defaults.set(column, value);
  }
  return defaults;
}
