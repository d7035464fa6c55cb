import type { AlgebraicType } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import type {
  ColumnDefinition,
  IndexDefinition,
  SequenceDefinition,
  UniqueConstraintDefinition,
} from './definition.ts';
import {
  generatedConstraintName,
  generatedIndexName,
  generatedSequenceName,
  missingColumnName,
} from './names.ts';
import type { RawIndex, RawSequence, RawTable } from './raw-module.ts';
import { followRefs, type Scope } from './scope.ts';

/** A table whose columns are known and whose other parts are being checked. */
export interface DraftTable {
  readonly name: string;
  readonly columns: readonly ColumnDefinition[];
  readonly raw: RawTable;
}

/** Constraints are sorted by name, like the other parts of a table. */
export function validateConstraints(scope: Scope, table: DraftTable): UniqueConstraintDefinition[] {
  const constraints = table.raw.constraints.map(({ sourceName, columns }) => {
    const given = scope.raw.version === 9 ? sourceName : undefined;
    const name = given ?? generatedConstraintName(table.name, columnNames(table, columns));
    scope.entities.claim(name);
    checkColumns(scope, table, name, columns);
    return { name, columns };
  });
  return constraints.sort(byName);
}

export function validateIndexes(
  scope: Scope,
  table: DraftTable,
  constraints: readonly UniqueConstraintDefinition[],
): IndexDefinition[] {
  const uniqueSets = new Set(constraints.map((constraint) => columnSet(constraint.columns)));
  const indexes = table.raw.indexes.map((raw) => {
    const { name, sourceName } = nameIndex(scope, table, raw);
    const { accessorName, algorithm, columns } = raw;
    if (accessorName !== undefined && scope.raw.version === 10) {
      scope.problems.checkIdentifiers(accessorName);
    }
    checkColumns(scope, table, name, columns);
    if (algorithm === 'direct') checkDirectIndex(scope, table, name, columns);
    const isUnique = uniqueSets.has(columnSet(columns));
    return { name, sourceName, accessorName, algorithm, columns, isUnique };
  });
  return indexes.sort(byName);
}

export function checkConstraintIndexes(
  { problems }: Scope,
  table: DraftTable,
  constraints: readonly UniqueConstraintDefinition[],
  indexes: readonly IndexDefinition[],
): void {
  const indexedSets = new Set(indexes.map((index) => columnSet(index.columns)));
  for (const { name, columns } of constraints) {
    if (indexedSets.has(columnSet(columns))) continue;
    const names = columnNames(table, columns).join(', ');
    problems.report(
      `No index found to support unique constraint \`${name}\` for columns \`{${names}}\``,
    );
  }
}

/** Returns the position of the primary key column, if the table has one. */
export function checkPrimaryKey(
  { problems }: Scope,
  table: DraftTable,
  constraints: readonly UniqueConstraintDefinition[],
): number | undefined {
  const [column, second] = table.raw.primaryKey;
  if (second !== undefined) {
    problems.report(`table \`${table.name}\` has multiple primary key annotations`);
  }
  if (column === undefined) return undefined;
  const name = table.columns[column]?.name;
  if (name === undefined) {
    problems.report(
      `column \`${column}\` referenced by def primary key not found in table \`${table.name}\``,
    );
  } else if (
    !constraints.some((constraint) => columnSet(constraint.columns) === columnSet([column]))
  ) {
    problems.report(
      `table \`${table.name}\` column \`${name}\` is primary key but has no unique constraint`,
    );
  }
  return column;
}

export function validateSequences(scope: Scope, table: DraftTable): SequenceDefinition[] {
  const taken = new Set<number>();
  const sequences = table.raw.sequences.map((raw) => {
    const column = columnName(table, raw.column);
    const name = raw.sourceName ?? generatedSequenceName(table.name, column);
    scope.entities.claim(name);
    checkColumns(scope, table, name, [raw.column]);
    checkSequenceType(scope, table, name, raw.column);
    checkSequenceRange(scope, name, raw);
    if (taken.has(raw.column)) {
      const where = `table \`${table.name}\` column \`${column}\``;
      scope.problems.report(`Attempt to define ${where} with more than 1 auto_inc sequence`);
    }
    taken.add(raw.column);
    const { start, minValue, maxValue, increment } = raw;
    return { name, column: raw.column, start, minValue, maxValue, increment };
  });
  return sequences.sort(byName);
}

function nameIndex(
  scope: Scope,
  table: DraftTable,
  raw: RawIndex,
): { name: string; sourceName: string } {
  const generated = generatedIndexName(table.name, columnNames(table, raw.columns), raw.algorithm);
  if (scope.raw.version === 9) {
    const name = raw.sourceName ?? generated;
    scope.entities.claim(name);
    return { name, sourceName: name };
  }
  if (raw.sourceName === undefined) {
    scope.problems.report(`index \`${generated}\` of table \`${table.name}\` has no source name`);
  }
  const sourceName = raw.sourceName ?? generated;
  const name = scope.explicitNames.index.get(sourceName) ?? generated;
  scope.problems.checkIdentifiers(name);
  scope.entities.claim(sourceName, name);
  return { name, sourceName };
}

function checkColumns(
  { problems }: Scope,
  table: DraftTable,
  owner: string,
  columns: readonly number[],
): void {
  if (columns.length === 0) problems.report(`def \`${owner}\` has no columns`);
  for (const column of columns) {
    if (table.columns[column] !== undefined) continue;
    const where = `not found in table \`${table.name}\``;
    problems.report(`column \`${column}\` referenced by def ${owner} ${where}`);
  }
  if (new Set(columns).size < columns.length) {
    const names = columnNames(table, columns).join(', ');
    problems.report(`def \`${owner}\` has duplicate columns: [${names}]`);
  }
}

function checkDirectIndex(
  { problems, typespace }: Scope,
  table: DraftTable,
  index: string,
  columns: readonly number[],
): void {
  const column = table.columns[columns[0] ?? 0];
  if (column === undefined || isDense(followRefs(column.type, typespace), typespace)) return;
  problems.report(
    `Direct index does not support type \`${typeText(column.type)}\` ` +
      `in column \`${column.name}\` in index \`${index}\``,
  );
}

/** Types whose values are small numbers: narrow unsigned integers and enums without payloads. */
function isDense(type: AlgebraicType, typespace: Scope['typespace']): boolean {
  if (type.kind === 'sum') {
    return type.variants.every(({ type: payload }) => {
      const resolved = followRefs(payload, typespace);
      return resolved.kind === 'product' && resolved.elements.length === 0;
    });
  }
  return ['u8', 'u16', 'u32', 'u64'].includes(type.kind);
}

function checkSequenceType(
  { problems, typespace }: Scope,
  table: DraftTable,
  sequence: string,
  position: number,
): void {
  const column = table.columns[position];
  if (column === undefined) return;
  if (/^[iu](8|16|32|64|128|256)$/.test(followRefs(column.type, typespace).kind)) return;
  problems.report(
    `invalid sequence column type: table \`${table.name}\` column \`${column.name}\` ` +
      `with type \`${typeText(column.type)}\` in sequence \`${sequence}\``,
  );
}

function checkSequenceRange({ problems }: Scope, name: string, raw: RawSequence): void {
  const given = [raw.minValue, raw.start, raw.maxValue].filter((value) => value !== undefined);
  const isAscending = given.every((value, index) => value >= (given[index - 1] ?? value));
  if (isAscending) return;
  problems.report(
    `invalid sequence range information: expected MIN <= START <= MAX in sequence \`${name}\``,
  );
}

function columnNames(table: DraftTable, columns: readonly number[]): string[] {
  return columns.map((column) => columnName(table, column));
}

function columnName(table: DraftTable, column: number): string {
  return table.columns[column]?.name ?? missingColumnName(column);
}

/** Equal for lists of the same columns in any order. */
function columnSet(columns: readonly number[]): string {
  return [...new Set(columns)].sort((a, b) => a - b).join();
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
