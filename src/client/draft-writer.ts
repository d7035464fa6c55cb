import type { AlgebraicType } from '../values/type.ts';
import type { ClientSchema, ClientTable, Row, RowKey } from './client-schema.ts';
import { nested } from './query-roots.ts';
import { accessorOf } from './table-handle.ts';
import type { TableRows } from './table-rows.ts';

/** One step of a prediction, with the data to undo it. */
export interface Write {
  readonly table: string;
  readonly key: RowKey;
  /** The row before the write. */
  readonly old: Row | undefined;
  /** True if the row has a temporary key. */
  readonly isTemp: boolean;
  undo(): void;
}

/** Runs predictions and owns their draft. */
export interface DraftOwner {
  /** Throws when no prediction is running. */
  rowsOf(table: string): TableRows | undefined;
  /** A new number with each call; the same numbers again when a prediction is rerun. */
  tempNumber(): number;
  wrote(write: Write): void;
}

/** A key is taken; the server would reject such a row, too. */
export class KeyTaken extends Error {}

/** The object that predictions write to; `draft.ts` has its public types. */
export function draftOf(schema: ClientSchema, owner: DraftOwner): object {
  const tables = [...schema.tables.values()].map((table) => {
    return [table.parts.accessor, tableDraft(table, owner)] as const;
  });
  return { ...nested(tables), tempId: () => new TempId(owner.tempNumber()) };
}

/** Stands for a number that no other pending call has, until it is written to a column. */
class TempId {
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }

  /** Far from the numbers of a sequence: negative, or counted down from the largest number. */
  valueFor(table: ClientTable, type: AlgebraicType): unknown {
    const [, sign, digits] = /^([iu])(\d+)$/.exec(type.kind) ?? [];
    if (type.kind === 'string') return `temp-${this.number}`;
    if (digits === undefined) {
      throw new TypeError(
        `tempId() is for integers and strings; a column of ${table.parts.accessor} is neither`,
      );
    }
    const value = (sign === 'u' ? 1n << BigInt(digits) : 0n) - BigInt(this.number);
    return Number(digits) > 32 ? value : Number(value);
  }
}

function tableDraft(table: ClientTable, owner: DraftOwner): object {
  const { name, columns, primaryKey, indexes } = table.parts;
  const keyType = columns[primaryKey ?? -1]?.type;
  const rows = () => owner.rowsOf(name);
  const all = () => [...(rows()?.rows() ?? [])];
  const accessors = indexes.map(({ accessor }) => [accessor, accessorOf(table, accessor, rows)]);
  return {
    insert: (row: Row) => insert(table, row, owner),
    update: (row: Row) => update(table, row, owner),
    delete: (row: Row) => remove(table, row, owner),
    find: (value: unknown) => {
      const key = value instanceof TempId && keyType ? value.valueFor(table, keyType) : value;
      return rows()?.entries.get(table.keyOfValue(key))?.row ?? null;
    },
    filter: (holds: (row: Row) => boolean) => all().filter(holds),
    iter: () => all().values(),
    count: () => BigInt(all().length),
    ...Object.fromEntries(accessors),
  };
}

function insert(table: ClientTable, given: Row, owner: DraftOwner): Row {
  const { name, accessor, columns, primaryKey } = table.parts;
  const rows = keptRows(table, owner);
  const row = rowOf(table, given);
  const key = table.keyOfRow(row);
  const there = rows.entries.get(key);
  if (there !== undefined) {
    if (primaryKey === undefined) return there.row;
    throw new KeyTaken(`${accessor} has a row with this key`);
  }
  const entry = rows.add(key, row);
  const isTemp = given[columns[primaryKey ?? -1]?.key ?? ''] instanceof TempId;
  owner.wrote({ table: name, key, old: undefined, isTemp, undo: () => rows.remove(entry) });
  return row;
}

/** Updates a row; has no effect on a row that this client does not know. */
function update(table: ClientTable, given: Row, owner: DraftOwner): Row {
  const { name, accessor, primaryKey } = table.parts;
  if (primaryKey === undefined) throw new Error(`${accessor} has no primary key to update by`);
  const rows = keptRows(table, owner);
  const row = rowOf(table, given);
  const entry = rows.entries.get(table.keyOfRow(row));
  if (entry !== undefined) {
    const { key, row: old } = entry;
    rows.replace(entry, row);
    owner.wrote({ table: name, key, old, isTemp: false, undo: () => rows.replace(entry, old) });
  }
  return row;
}

function remove(table: ClientTable, given: Row, owner: DraftOwner): boolean {
  const { name } = table.parts;
  const rows = keptRows(table, owner);
  const entry = rows.entries.get(table.keyOfRow(rowOf(table, given)));
  if (entry === undefined) return false;
  const { key, row: old } = entry;
  rows.remove(entry);
  owner.wrote({ table: name, key, old, isTemp: false, undo: () => rows.restore(entry) });
  return true;
}

function keptRows(table: ClientTable, owner: DraftOwner): TableRows {
  const { name, accessor, isEvent } = table.parts;
  const rows = owner.rowsOf(name);
  if (rows === undefined || isEvent) throw new Error(`${accessor} keeps no rows`);
  return rows;
}

/** The row as the server would return it: encoded and decoded, so that the two can be compared. */
function rowOf(table: ClientTable, given: Row): Row {
  const row: Record<string, unknown> = { ...given };
  for (const { key, type } of table.parts.columns) {
    const value = row[key];
    if (value instanceof TempId) row[key] = value.valueFor(table, type);
  }
  const bytes = table.encode(row);
  return table.decode(bytes, 0, bytes.length);
}
