import type { AlgebraicType } from '../values/type.ts';
import type { Catalog, DerivedIndexSpec, SequenceSpec, TableSpec, ViewSpec } from './catalog.ts';
import { firstUserId } from './system-tables.ts';

/** Describes how a catalog contradicts itself, or returns `undefined` if it does not. */
export function checkCatalog(catalog: Catalog): string | undefined {
  const noSequences: readonly SequenceSpec[] = [];
  const noDerivedIndexes: readonly DerivedIndexSpec[] = [];
  const none = { sequences: noSequences, derivedIndexes: noDerivedIndexes };
  const views = catalog.views.map((view) => ({ ...view, ...none }));
  const tables: readonly Relation[] = [...catalog.tables, ...views];
  const ids = [
    duplicateOf(tables.map((table) => table.id)),
    duplicateOf(tables.flatMap(indexIdsOf)),
    duplicateOf(tables.flatMap((table) => table.constraints.map((constraint) => constraint.id))),
    duplicateOf(tables.flatMap((table) => table.sequences.map((sequence) => sequence.id))),
  ].find((id) => id !== undefined);
  if (ids !== undefined) return `id ${ids} is used twice`;
  const name = duplicateOf(tables.map((table) => table.name));
  if (name !== undefined) return `table name "${name}" is used twice`;
  if (catalog.nextId < firstUserId) return `next id ${catalog.nextId} is a system id`;
  const taken = tables.flatMap(idsOf).find((id) => id >= catalog.nextId);
  if (taken !== undefined) return `id ${taken} is beyond the next id ${catalog.nextId}`;
  const columnTypes = tables.flatMap((table) => table.columns.map((column) => column.type));
  const wild = [...catalog.types, ...columnTypes].some((type) => {
    return hasRefBeyond(type, catalog.types.length);
  });
  if (wild) return 'a type refers to one that does not exist';
  return tables.map(checkTable).find((problem) => problem !== undefined);
}

/** The common parts of tables and views. */
type Relation = (ViewSpec & Pick<TableSpec, 'sequences' | 'derivedIndexes'>) | TableSpec;

function checkTable(table: Relation): string | undefined {
  const column = duplicateOf(table.columns.map(({ name }) => name));
  if (column !== undefined) return `column "${column}" of table "${table.name}" is there twice`;
  const positions = [
    ...(table.primaryKey === undefined ? [] : [table.primaryKey]),
    ...table.indexes.flatMap(({ columns }) => columns),
    ...table.constraints.flatMap(({ columns }) => columns),
    ...table.sequences.map((sequence) => sequence.column),
    ...table.derivedIndexes.map((index) => index.column),
  ];
  const beyond = positions.find((position) => position >= table.columns.length);
  if (beyond !== undefined) return `table "${table.name}" has no column ${beyond}`;
  const keyed = [...table.indexes, ...table.constraints];
  const empty = keyed.find(({ columns }) => columns.length === 0);
  return empty === undefined ? undefined : `"${empty.name}" has no columns`;
}

function idsOf(table: Relation): number[] {
  const { indexes, constraints, sequences, derivedIndexes } = table;
  const parts = [...indexes, ...constraints, ...sequences, ...derivedIndexes];
  return [table.id, ...parts.map((part) => part.id)];
}

function indexIdsOf({ indexes, derivedIndexes }: Relation): number[] {
  return [...indexes, ...derivedIndexes].map(({ id }) => id);
}

function duplicateOf<Item>(items: readonly Item[]): Item | undefined {
  const seen = new Set<Item>();
  return items.find((item) => {
    if (seen.has(item)) return true;
    seen.add(item);
    return false;
  });
}

function hasRefBeyond(type: AlgebraicType, count: number): boolean {
  if (type.kind === 'ref') return type.ref >= count;
  if (type.kind === 'array') return hasRefBeyond(type.element, count);
  if (type.kind === 'product') return type.elements.some((part) => hasRefBeyond(part.type, count));
  return type.kind === 'sum' && type.variants.some((part) => hasRefBeyond(part.type, count));
}
