import type { Typespace } from '../values/type.ts';
import { isSameSequence, sequenceShape } from './build-catalog.ts';
import type { ColumnDefinition, TableDefinition } from './definition.ts';
import type { DraftTable } from './draft-tables.ts';
import { shifted } from './flat-definition.ts';
import type { FullTable } from './flatten.ts';

/**
 * A table after the declared steps of a migration, as the automatic plan compares it with the one
 * that it becomes.
 */
export interface ContinuedTable {
  readonly full: FullTable;
  /** Full canonical name before. */
  readonly before: string;
  /** By name now, the name before of each index, constraint, sequence and derived index. */
  readonly partsBefore: ReadonlyMap<string, string>;
  /** By position now, the position before of each column that was there. */
  readonly columnsBefore: readonly (number | undefined)[];
}

/**
 * The draft with the names that it has in `target`: an index keeps its id, and a sequence its
 * state, when only names of the table or of a column have changed. `columns` are canonical names.
 */
export function continuedTable(
  draft: DraftTable,
  columns: readonly string[],
  target: FullTable,
): ContinuedTable {
  const isWhole = draft.end !== undefined;
  const types = joined(draft.origin.typespace, target.typespace);
  const list = isWhole
    ? target.table.columns.map((column) => types.next(column))
    : draft.columns.map(({ origin, madeBy, isRenamed }, at): ColumnDefinition => {
        const name = columns[at] ?? '';
        const after = target.table.columns.find((column) => column.name === name);
        const before = draft.origin.table.columns[origin ?? -1];
        const isMade = madeBy !== undefined || before === undefined;
        const column = isMade ? after && types.next(after) : before;
        const { sourceName = name } = (isMade || isRenamed ? after : before) ?? {};
        return { ...(column ?? unknownColumn), name, sourceName };
      });
  const columnsBefore = isWhole
    ? list.map(({ name }) => {
        const at = draft.origin.table.columns.findIndex((column) => column.name === name);
        return at < 0 ? undefined : at;
      })
    : draft.columns.map(({ origin }) => origin);
  const parts = continuedParts(draft, list, columnsBefore, target.table);
  return {
    full: { table: parts.table, typespace: types.typespace },
    before: draft.origin.table.name,
    partsBefore: parts.partsBefore,
    columnsBefore,
  };
}

const unknownColumn: ColumnDefinition = {
  name: '',
  sourceName: '',
  type: { kind: 'product', elements: [] },
  defaultBytes: undefined,
};

/** One typespace for columns of both sides; tables of two modules share it. */
function joined(old: Typespace, next: Typespace) {
  const by = old.types.length;
  const ofOld = joinedTypes.get(old) ?? new WeakMap<Typespace, Typespace>();
  const typespace = ofOld.get(next) ?? {
    types: [...old.types, ...next.types.map((type) => shifted(type, by))],
  };
  joinedTypes.set(old, ofOld.set(next, typespace));
  return {
    typespace,
    next: (column: ColumnDefinition): ColumnDefinition => {
      return { ...column, type: shifted(column.type, by) };
    },
  };
}

const joinedTypes = new WeakMap<Typespace, WeakMap<Typespace, Typespace>>();

function continuedParts(
  draft: DraftTable,
  columns: readonly ColumnDefinition[],
  columnsBefore: readonly (number | undefined)[],
  target: TableDefinition,
): { readonly table: TableDefinition; readonly partsBefore: ReadonlyMap<string, string> } {
  const { table: origin } = draft.origin;
  const partsBefore = new Map<string, string>();
  const moved = (position: number): number => columnsBefore.indexOf(position);
  const named = (positions: readonly number[]) => positions.map((at) => columns[at]?.name).join();
  const targetNamed = (positions: readonly number[]) => {
    return positions.map((at) => target.columns[at]?.name).join();
  };
  const continued = <Part extends { readonly name: string }>(
    parts: readonly Part[],
    move: (part: Part) => Part | undefined,
    candidates: readonly Part[],
    isSame: (part: Part, candidate: Part) => boolean,
  ): Part[] => continuedList(parts, move, { candidates, isSame, partsBefore });
  const moveColumns = <Part extends { readonly columns: readonly number[] }>(part: Part) => {
    const positions = part.columns.map(moved);
    return positions.includes(-1) ? undefined : { ...part, columns: positions };
  };
  const moveColumn = <Part extends { readonly column: number }>(part: Part) => {
    const column = moved(part.column);
    return column < 0 ? undefined : { ...part, column };
  };
  const key = origin.primaryKey === undefined ? -1 : moved(origin.primaryKey);
  const isWhole = draft.end !== undefined;
  const isRespelled = draft.isRenamed || draft.columns.some(({ isRenamed }) => isRenamed);
  const indexes = continued(
    origin.indexes,
    moveColumns,
    target.indexes,
    (a, b) => a.algorithm === b.algorithm && named(a.columns) === targetNamed(b.columns),
  ).map((index) => {
    const after = target.indexes.find(({ name }) => name === index.name);
    if (after === undefined) return index;
    return {
      ...index,
      sourceName: isRespelled ? after.sourceName : index.sourceName,
      accessorName: isWhole ? after.accessorName : index.accessorName,
    };
  });
  const constraints = continued(
    origin.constraints,
    moveColumns,
    target.constraints,
    (a, b) => named(a.columns) === targetNamed(b.columns),
  ).filter(({ name, columns: unique }) => {
    const after = target.constraints.find((constraint) => constraint.name === name);
    return !isWhole || after === undefined || named(unique) === targetNamed(after.columns);
  });
  const table: TableDefinition = {
    ...origin,
    name: target.name,
    sourceName: draft.isRenamed ? target.sourceName : origin.sourceName,
    columns,
    primaryKey: key < 0 ? undefined : key,
    indexes,
    constraints,
    sequences: continued(origin.sequences, moveColumn, target.sequences, (a, b) => {
      const isSamePlace = named([a.column]) === targetNamed([b.column]);
      const shape = { ...sequenceShape(b), name: a.name, column: a.column };
      return isSamePlace && isSameSequence(sequenceShape(a), shape);
    }),
    derivedIndexes: continued(
      origin.derivedIndexes,
      moveColumn,
      target.derivedIndexes,
      (a, b) => a.kind === b.kind && named([a.column]) === targetNamed([b.column]),
    ),
    // Schedules hold no rows: they are compared where the whole way is.
    schedule: target.schedule,
  };
  return { table, partsBefore };
}

/** Parts whose columns are all there, under the name of the part that they become. */
function continuedList<Part extends { readonly name: string }>(
  parts: readonly Part[],
  move: (part: Part) => Part | undefined,
  to: {
    readonly candidates: readonly Part[];
    readonly isSame: (part: Part, candidate: Part) => boolean;
    readonly partsBefore: Map<string, string>;
  },
): Part[] {
  return parts.flatMap((part) => {
    const there = move(part);
    if (there === undefined) return [];
    const same = to.candidates.find((candidate) => candidate.name === there.name);
    const match = same ?? to.candidates.find((candidate) => to.isSame(there, candidate));
    const name = match?.name ?? there.name;
    to.partsBefore.set(name, part.name);
    return [{ ...there, name }];
  });
}
