import type { Catalog, TableSpec } from '../schema/catalog.ts';
import { type IndexId, indexId, type TableId, tableId } from '../schema/ids.ts';
import type { DerivedBody } from './derived-body.ts';
import type { IndexBody } from './index-body.ts';
import { MigrationError } from './migrate.ts';
import { noRow } from './row-ref.ts';
import { Table } from './table.ts';

/**
 * Another table over the rows and indexes of `table`, with sequences of its own. While one of them
 * is written to, the other must not be used.
 */
export function sharedTable(table: Table, types: Catalog, spec: TableSpec = table.spec): Table {
  const { heap, rowCount, wholeRows } = table;
  const bodies = new Map<IndexId, IndexBody>();
  table.indexes.forEach(({ body }, at) => {
    const { id } = spec.indexes[at] ?? {};
    if (id !== undefined) bodies.set(id, body);
  });
  const derived = new Map<IndexId, DerivedBody>();
  table.derivedIndexes.forEach(({ body }, at) => {
    const { id } = spec.derivedIndexes[at] ?? {};
    if (id !== undefined) derived.set(id, body);
  });
  const shared = new Table(spec, types, { heap, rowCount, bodies, derived, wholeRows });
  continueSequences(shared, table);
  return shared;
}

/** A table with copies of the rows of `table`. */
export function copiedTable(table: Table, types: Catalog): Table {
  const copy = new Table(table.spec, types);
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const added = copy.changes.tryToLoad(
      table.pageOf(ref),
      table.offsetOf(ref),
      table.lengthOf(ref),
    );
    if (added !== 'loaded') throw new MigrationError(`Table \`${table.spec.name}\` is too large`);
  }
  continueSequences(copy, table);
  return copy;
}

/**
 * The spec of a table of the definition before, as migrations find it beside the tables after: as
 * `old.NAME`, with ids of its own.
 */
export function oldSpec(spec: TableSpec): TableSpec {
  return {
    ...spec,
    id: oldTableId(spec.id),
    name: oldName(spec.name),
    sourceName: oldName(spec.sourceName),
    indexes: spec.indexes.map((index) => oldPart(index, indexId(index.id + oldIds))),
    derivedIndexes: spec.derivedIndexes.map((index) => {
      return { ...index, id: indexId(index.id + oldIds), name: oldName(index.name) };
    }),
    sequences: [],
  };
}

function oldPart<Part extends { readonly name: string; readonly sourceName: string }>(
  part: Part,
  id: IndexId,
): Part {
  return { ...part, id, name: oldName(part.name), sourceName: oldName(part.sourceName) };
}

function oldName(name: string): string {
  return `old.${name}`;
}

function oldTableId(id: TableId): TableId {
  return tableId(id + oldIds);
}

/** Far above the ids of any catalog. */
const oldIds = 2 ** 30;

/**
 * Sequences of a table that takes the place of `old` go on where those were: by id, or else by the
 * name of the column. They never go back.
 */
export function continueSequences(table: Table, old: Table | undefined): void {
  for (const { sequence, column } of table.sequences) {
    const name = table.spec.columns[column]?.name;
    const was =
      old?.sequences.find((other) => other.sequence.spec.id === sequence.spec.id) ??
      old?.sequences.find((other) => old.spec.columns[other.column]?.name === name);
    const last = was?.sequence.last;
    if (last !== undefined) sequence.raiseTo(last);
  }
}
