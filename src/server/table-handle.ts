import { columnOf } from '../declare/builder.ts';
import { vectorLengthOf } from '../declare/composite.ts';
import { indexSourceName } from '../declare/names.ts';
import type { TableIndex } from '../declare/table.ts';
import type { BinaryReader } from '../values/binary-reader.ts';
import { nativeDecoderOf } from '../values/native.ts';
import type { AlgebraicType, ProductType, Typespace } from '../values/type.ts';
import type { Bridge } from './bridge.ts';
import type { PlannedTable } from './describe.ts';
import { makeIndexHandle } from './index-handle.ts';
import { fillerOf } from './left-out.ts';
import { iterateRows, type RowIterator } from './row-iterator.ts';
import { checked, lazyEncoder, type Row, type TableAccess } from './table-access.ts';

/** The handles of one table: `read` is the one for views. */
export interface TableHandles {
  readonly write: Row;
  readonly read: Row;
}

/** What the handles of a table are made of. */
export interface HandleParts {
  /** In errors. */
  readonly name: string;
  /** What the host calls the table. */
  readonly host: string;
  readonly rowType: ProductType;
  readonly typespace: Typespace;
  readonly isEvent: boolean;
  /** Columns that the host numbers, in their order. */
  readonly sequences: readonly CountedColumn[];
  /** A row with what was left out. */
  readonly fill: (row: Row) => Row;
  readonly refusalOf: TableAccess['refusalOf'];
  readonly indexes: readonly { readonly index: TableIndex; readonly host: string }[];
}

export interface CountedColumn {
  readonly name: string;
  readonly type: AlgebraicType;
}

/** The handles of a table of the schema. */
export function makeTableHandles(
  bridge: Bridge,
  namespace: string,
  planned: PlannedTable,
  typespace: Typespace,
): TableHandles {
  const { key, table, rowType } = planned;
  const name = namespace + key;
  return handlesOf(bridge, {
    name,
    host: name,
    rowType,
    typespace,
    isEvent: table.options.event === true,
    sequences: Object.values(table.columns).flatMap((builder, position) =>
      columnOf(builder).traits.autoInc ? [rowType.elements[position] as never] : [],
    ),
    fill: fillerOf(planned, typespace),
    refusalOf: (row, code) => vectorRefusal(name, planned, row) ?? bridge.error(code),
    indexes: table.idxs.map((index) => {
      const sourceName = indexSourceName(key, index.columns, index.algorithm);
      return { index, host: namespace + sourceName };
    }),
  });
}

/**
 * Makes the handles of one table: methods and index accessors. Built once per program, as plain
 * closures, so that a call allocates nothing and a method can be detached from its handle.
 */
export function handlesOf(bridge: Bridge, parts: HandleParts): TableHandles {
  const { sys } = bridge;
  const { fill } = parts;
  const access = makeAccess(bridge, parts);
  const { id, encodeRow, refusalOf, takeGenerated } = access;
  const iter = () => access.rows(sys.scan(id()));

  const count = () => BigInt(checked(bridge, sys.row_count(id())));
  const reads: Members = new Map<string, object>(Object.entries({ count, iter }));
  const writes: Members = new Map<string, object>(
    Object.entries({
      insert(given: Row): Row {
        const table = id();
        const row = fill(given);
        const generated = sys.insert(table, encodeRow(row));
        if (generated < 0) throw refusalOf(row, generated);
        const inserted = { ...row };
        if (generated > 0) takeGenerated(inserted, generated);
        return inserted;
      },
      delete(row: Row): boolean {
        const table = id();
        const removed = sys.delete_equal(table, encodeRow(row));
        if (removed < 0) throw bridge.error(removed);
        return removed > 0;
      },
      clear: () => BigInt(checked(bridge, sys.clear(id()))),
      // Not the other handle's functions: an index of the same name may add its methods to them.
      count: () => count(),
      iter: () => iter(),
    }),
  );
  for (const { index, host } of parts.indexes) {
    const methods = makeIndexHandle(access, index, host);
    addIndex(writes, index.accessor, methods);
    const reading = Object.entries(methods).filter(([name]) => readingMethods.includes(name));
    addIndex(reads, index.accessor, Object.fromEntries(reading));
  }
  return {
    write: handleOf(writes, iter),
    read: parts.isEvent ? unreadable(access.name, reads) : handleOf(reads, iter),
  };
}

type Members = Map<string, object>;

/** The methods of an index that views have. */
const readingMethods = ['find', 'filter'];

/** Two indexes with one accessor, or one called like a method, share the object. */
function addIndex(members: Members, accessor: string, methods: Row): void {
  const shared = members.get(accessor);
  if (shared === undefined) members.set(accessor, methods);
  else Object.assign(shared, methods);
}

function handleOf(members: Members, iter: () => RowIterator<Row>): Row {
  return Object.freeze({ ...Object.fromEntries(members), [Symbol.iterator]: iter });
}

/** The handle of an event table in views: every use throws an error that explains why. */
function unreadable(name: string, members: Members): Row {
  const refuse = (): never => {
    throw new TypeError(
      `a view cannot read the event table ${name}: its rows exist for one transaction only`,
    );
  };
  const handle: Row = {};
  for (const accessor of [...members.keys(), Symbol.iterator]) {
    Object.defineProperty(handle, accessor, { get: refuse, enumerable: true });
  }
  return Object.freeze(handle);
}

function makeAccess(bridge: Bridge, parts: HandleParts): TableAccess {
  const { name, host, rowType, typespace, sequences, refusalOf } = parts;
  const { sys } = bridge;
  const write = lazyEncoder(rowType, typespace, name);
  const decodeRow = lazyDecoder(rowType, typespace) as (reader: BinaryReader) => Row;
  let tableId = -1;
  return {
    bridge,
    name,
    rowType,
    typespace,
    id() {
      if (tableId < 0) tableId = checked(bridge, sys.table_id(host));
      return tableId;
    },
    encodeRow: (row) => bridge.encode(write, row),
    refusalOf,
    decodeRow,
    takeGenerated(row, byteCount) {
      const reader = bridge.read(byteCount);
      for (const column of sequences) {
        // Zero requests a value; the host wrote one for each zero, in column order.
        const isZero = row[column.name] === 0 || row[column.name] === 0n;
        if (isZero) row[column.name] = nativeDecoderOf(column.type, typespace)(reader);
      }
    },
    rows(opened) {
      const iterator = checked(bridge, opened);
      return iterateRows<Row>({
        fill(rows) {
          bridge.guard();
          const byteCount = checked(bridge, sys.next(iterator));
          const reader = bridge.read(byteCount);
          while (reader.remaining > 0) rows.push(decodeRow(reader));
        },
        close: () => sys.close(iterator),
      });
    },
  };
}

/** A row whose vector has another length than its column is no row to the host. */
function vectorRefusal(name: string, { table }: PlannedTable, row: Row): Error | undefined {
  for (const [column, builder] of Object.entries(table.columns)) {
    const length = vectorLengthOf(columnOf(builder).type);
    const value = row[column] as ArrayLike<number> | null | undefined;
    if (length === undefined || value === undefined || value === null) continue;
    if (value.length === length) continue;
    const got = `not ${value.length}`;
    return new TypeError(`${name}.${column} holds vectors of ${length} elements, ${got}`);
  }
  return undefined;
}

type Decode = (reader: BinaryReader) => unknown;

export function lazyDecoder(type: AlgebraicType, typespace: Typespace): Decode {
  let decode: Decode | undefined;
  return (reader) => {
    decode ??= nativeDecoderOf(type, typespace);
    return decode(reader);
  };
}
