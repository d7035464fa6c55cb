import type { DerivedIndexKind, IndexAlgorithm } from '../schema/definition.ts';
import { isVisible } from '../sql/rights.ts';
import type { TableMemory } from '../store/memory.ts';
import type { Table } from '../store/table.ts';
import type { NamedType, Typespace } from '../values/type.ts';
import type { DatabaseCore } from './core.ts';
import type { Caller } from './outcome.ts';
import { isReadable } from './readable.ts';

/** The structure of a table, and its size. */
export interface TableFigures {
  /** Canonical name. */
  readonly table: string;
  readonly isPublic: boolean;
  readonly isEvent: boolean;
  readonly columns: readonly ColumnFigures[];
  /** The typespace that refs in column types index. */
  readonly types: Typespace;
  readonly indexes: readonly IndexFigures[];
  /** Absent if the caller sees only some of the rows. */
  readonly size?: TableSize;
}

export interface ColumnFigures extends NamedType {
  readonly name: string;
  readonly isPrimaryKey: boolean;
  readonly isAutoIncrement: boolean;
}

export interface IndexFigures {
  readonly name: string;
  readonly columns: readonly string[];
  readonly kind: IndexAlgorithm | DerivedIndexKind;
  readonly isUnique: boolean;
  /** Memory that it takes; absent where the table has no size. */
  readonly bytes?: number;
}

export interface TableSize {
  readonly rowCount: number;
  readonly rowBytes: number;
  readonly indexBytes: number;
}

/** The tables of the program that the caller can read, by ascending name. */
export function tableFigures(core: DatabaseCore, { rights }: Caller): readonly TableFigures[] {
  return [...core.store.tables]
    .filter(({ spec }) => spec.kind === 'user' && isVisible(spec, rights))
    .map((table) => figuresOf(table, isReadable(core.program.sql, rights, table)))
    .sort((one, other) => (one.table < other.table ? -1 : 1));
}

function figuresOf(table: Table, isCounted: boolean): TableFigures {
  const { spec, types } = table;
  const { name, access, isEvent, indexes } = spec;
  const nameOf = (column: number) => spec.columns[column]?.name ?? '';
  const memory = isCounted ? table.memory() : undefined;
  const bytesOf = (id: number) => {
    const bytes = memory?.indexes.find(({ indexId }) => indexId === id)?.bytes;
    return bytes === undefined ? {} : { bytes };
  };
  return {
    table: name,
    isPublic: access === 'public',
    isEvent,
    columns: spec.columns.map(({ name, type }, column) => ({
      name,
      type,
      isPrimaryKey: column === spec.primaryKey,
      isAutoIncrement: spec.sequences.some((sequence) => sequence.column === column),
    })),
    types,
    indexes: [
      ...indexes.map(({ id, name, columns, algorithm: kind, isUnique }) => {
        return { name, columns: columns.map(nameOf), kind, isUnique, ...bytesOf(id) };
      }),
      ...spec.derivedIndexes.map(({ id, name, column, kind }) => {
        return { name, columns: [nameOf(column)], kind, isUnique: false, ...bytesOf(id) };
      }),
    ],
    ...(memory === undefined ? {} : { size: sizeOf(memory) }),
  };
}

function sizeOf({ rowCount, rowBytes, wholeRowsBytes, indexes }: TableMemory): TableSize {
  const indexBytes = indexes.reduce((sum, { bytes }) => sum + bytes, wholeRowsBytes);
  return { rowCount, rowBytes, indexBytes };
}
