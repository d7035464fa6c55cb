import { present } from '../assert.ts';
import { decodeValue } from '../values/decode.ts';
import { valueToText } from '../values/text.ts';
import type { AlgebraicType } from '../values/type.ts';
import { OrderedKey } from './ordered-key.ts';
import { RefList } from './ref-list.ts';
import { noRow, type RowRef } from './row-ref.ts';
import type { Table } from './table.ts';
import type { Index } from './table-index.ts';
import { keyOf } from './transaction.ts';
import { Tree } from './tree.ts';

/** Messages about rows that share a key that must be unique. */

const groupsShownMax = 10;

/** Message for one violation: `key` is the encoded key columns. SQL inserts report the same. */
export function uniqueViolationText(table: Table, index: Index, key: Uint8Array): string {
  return (
    `Unique constraint violation '${index.spec.name}' in table '${table.spec.name}': ` +
    `column(s): '${columnList(table, index)}' value: ${keyText(table, index, key)}`
  );
}

/** Message for the violation of a stored row. */
export function violationText(table: Table, index: Index, ref: RowRef): string {
  return uniqueViolationText(table, index, storedKey(table, index, ref));
}

/** The key of a row as people read it; `undefined` in a table without a unique index. */
export function uniqueKeyText(table: Table, row: Uint8Array): string | undefined {
  const { primaryKey } = table.spec;
  const isKey = ({ spec, isUnique }: Index) =>
    isUnique && (primaryKey === undefined || spec.columns[0] === primaryKey);
  const index = table.indexes.find((one) => isKey(one) && !one.isSparse);
  if (index === undefined) return undefined;
  const key = keyOf(table.shape, index.spec.columns, row, 0);
  return `${columnNames(table, index).join(', ')} ${keyText(table, index, key)}`;
}

/** All groups of rows that share a key, the first ten of them listed. */
export function duplicatesOf(table: Table, index: Index): ConflictGroups {
  const groups = duplicateGroups(table, index);
  return {
    table: table.spec.name,
    constraint: index.spec.name,
    columns: columnNames(table, index),
    groups: groups.slice(0, groupsShownMax).map(({ ref, count }) => {
      return { value: keyText(table, index, storedKey(table, index, ref)), rows: count };
    }),
    more: Math.max(0, groups.length - groupsShownMax),
  };
}

/** Message for rows of a table that is kept. */
export function duplicatesText(table: Table, { columns, groups, more }: ConflictGroups): string {
  const lines = groups.map(({ value, rows }) => `  - ${value} appears ${rows} times`);
  if (more > 0) lines.push('  ... and more');
  const names = columns.map((name) => `"${name}"`).join(', ');
  const place = `table ${table.spec.id} column(s) [${names}]`;
  return [
    `Cannot add unique constraint on ${place} (committed state):`,
    `${groups.length + more} duplicate group(s) found.`,
    ...lines,
  ].join('\n');
}

/** Rows that share a unique key; the first ten keys are listed. */
export interface ConflictGroups {
  readonly table: string;
  readonly constraint: string;
  readonly columns: readonly string[];
  readonly groups: readonly { readonly value: string; readonly rows: number }[];
  /** Groups that there are besides. */
  readonly more: number;
}

/** `rows`: those that are not in the table because others have their keys, at least one. */
export function conflictGroups(table: Table, rows: readonly Uint8Array[]): ConflictGroups[] {
  const found = new Map<Index, Map<string, number>>();
  for (const row of rows) {
    for (const index of table.indexes) {
      if (!index.isUnique) continue;
      const key = keyOf(table.shape, index.spec.columns, row, 0);
      if (table.find(index, key, key.length) < 0) continue;
      const counts = found.get(index) ?? new Map<string, number>();
      const value = keyText(table, index, key);
      counts.set(value, (counts.get(value) ?? 1) + 1);
      found.set(index, counts);
    }
  }
  return [...found].map(([index, counts]) => {
    const groups = [...counts].map(([value, count]) => ({ value, rows: count }));
    return {
      table: table.spec.name,
      constraint: index.spec.name,
      columns: columnNames(table, index),
      groups: groups.slice(0, groupsShownMax),
      more: Math.max(0, groups.length - groupsShownMax),
    };
  });
}

/** These conflicts as a publisher reads them. */
export function conflictText({ table, columns, groups, more }: ConflictGroups): string {
  const lines = groups.map(({ value, rows }) => `  - ${value} appears ${rows} times`);
  if (more > 0) lines.push('  ... and more');
  const names = columns.map((column) => `"${column}"`).join(', ');
  return [
    `The migrated rows of table ${table} break its unique constraint on column(s) [${names}]:`,
    `${groups.length + more} duplicate group(s) found.`,
    ...lines,
  ].join('\n');
}

interface Group {
  /** One of its rows. */
  readonly ref: RowRef;
  count: number;
}

function duplicateGroups(table: Table, index: Index): Group[] {
  const key = new OrderedKey(table.heap, table.shape, index.spec.columns);
  const tree = new Tree(key, true);
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    key.loadStored(ref);
    if (!index.isSparse || !key.lacksValue()) tree.add(ref);
  }
  const sorted = new RefList();
  tree.startAtFirst();
  tree.collectToLast(sorted);
  const groups: Group[] = [];
  let group: Group | undefined;
  for (let position = 0; position < sorted.length; position++) {
    const ref = sorted.at(position);
    if (group !== undefined) {
      key.loadStored(group.ref);
      if (key.compareStored(ref) === 0) {
        group.count++;
        continue;
      }
    }
    group = { ref, count: 1 };
    groups.push(group);
  }
  return groups.filter(({ count }) => count > 1);
}

function columnList(table: Table, index: Index): string {
  return `[${columnNames(table, index)
    .map((name) => `"${name}"`)
    .join(', ')}]`;
}

function columnNames(table: Table, index: Index): string[] {
  return index.spec.columns.map(
    (column) => present(table.spec.columns[column], 'index column').name,
  );
}

function storedKey(table: Table, index: Index, ref: RowRef): Uint8Array {
  return keyOf(table.shape, index.spec.columns, table.pageOf(ref), table.offsetOf(ref));
}

/** One column as its value, several as a product of numbered elements. */
function keyText(table: Table, index: Index, key: Uint8Array): string {
  const types = index.spec.columns.map((column) =>
    present(table.shape.columnTypes[column], 'type of an index column'),
  );
  const [only] = types;
  const type: AlgebraicType =
    types.length === 1 && only !== undefined
      ? only
      : { kind: 'product', elements: types.map((each, at) => ({ name: `${at}`, type: each })) };
  return valueToText(type, decodeValue(type, key, table.types), table.types);
}
