import { type Bound, Range } from '../declare/range.ts';
import type { TableIndex } from '../declare/table.ts';
import { boundTags, errorCodes } from '../protocol/module-abi.ts';
import type { BinaryWriter } from '../values/binary-writer.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { Bridge, Encode } from './bridge.ts';
import { checked, lazyEncoder, type Row, type TableAccess } from './table-access.ts';

/** The methods of one index: `find`, `delete`, `update` or `filter`, `delete`. */
export function makeIndexHandle(access: TableAccess, index: TableIndex, indexName: string): Row {
  const { bridge } = access;
  let indexId = -1;
  const id = (): number => {
    if (indexId < 0) indexId = checked(bridge, bridge.sys.index_id(indexName));
    return indexId;
  };
  const columns = index.columns.map((name) => {
    const element = access.rowType.elements.find((candidate) => candidate.name === name);
    return lazyEncoder(element?.type ?? missing, access.typespace, `${access.name}.${name}`);
  });
  const key = new KeyEncoder(bridge, columns);
  if (!index.isSingleRow) return rowsIndex(access, id, key, index.algorithm === 'hash');
  const methods = index.isUnique ? uniqueIndex(access, id, key) : singleRowIndex(access, id, key);
  return index.isPrimaryKey ? { ...methods, ...keyIndex(access, id) } : methods;
}

/** An index that a unique constraint covers: the host finds its row in one call. */
function uniqueIndex(access: TableAccess, id: () => number, key: KeyEncoder): Row {
  const { bridge, decodeRow } = access;
  const { sys } = bridge;
  return {
    find(value: unknown): Row | null {
      const index = id();
      const byteCount = sys.find(index, key.point(value));
      if (byteCount >= 0) return decodeRow(bridge.read(byteCount));
      if (byteCount === noSuchRow) return null;
      throw bridge.error(byteCount);
    },
    delete(value: unknown): boolean {
      const index = id();
      return checked(bridge, sys.delete_point(index, key.point(value))) > 0;
    },
  };
}

/** Columns that are each unique, without a constraint over all of them: also one row at most. */
function singleRowIndex(access: TableAccess, id: () => number, key: KeyEncoder): Row {
  const { bridge } = access;
  const { sys } = bridge;
  return {
    find(value: unknown): Row | null {
      const index = id();
      const length = key.point(value);
      if (lacksValue(value)) return null;
      const [row] = access.rows(sys.scan_point(index, length));
      return row ?? null;
    },
    delete(value: unknown): boolean {
      const index = id();
      const length = key.point(value);
      return !lacksValue(value) && checked(bridge, sys.delete_point(index, length)) > 0;
    },
  };
}

/** A key without a value in one of its columns is nobody's: any number of rows may lack it. */
function lacksValue(value: unknown): boolean {
  const isAbsent = (part: unknown) => part === undefined || part === null;
  return isArray(value) ? value.some(isAbsent) : isAbsent(value);
}

function keyIndex(access: TableAccess, id: () => number): Row {
  const { bridge, encodeRow, refusalOf, takeGenerated } = access;
  const { sys } = bridge;
  return {
    update(row: Row): Row {
      const table = access.id();
      const index = id();
      const generated = sys.update(table, index, encodeRow(row));
      if (generated < 0) throw refusalOf(row, generated);
      if (generated > 0) takeGenerated(row, generated);
      return row;
    },
  };
}

function rowsIndex(access: TableAccess, id: () => number, key: KeyEncoder, isHash: boolean): Row {
  const { bridge } = access;
  const { sys } = bridge;
  return {
    filter(bounds: unknown) {
      const index = id();
      const isPoint = isHash ? key.wholePoint(bounds) : key.bounds(bounds);
      return access.rows(
        isPoint
          ? sys.scan_point(index, key.prefixBytes)
          : sys.scan_range(index, key.prefixColumns, key.prefixBytes, key.startBytes, key.endBytes),
      );
    },
    delete(bounds: unknown): number {
      const index = id();
      const isPoint = isHash ? key.wholePoint(bounds) : key.bounds(bounds);
      return checked(
        bridge,
        isPoint
          ? sys.delete_point(index, key.prefixBytes)
          : sys.delete_range(
              index,
              key.prefixColumns,
              key.prefixBytes,
              key.startBytes,
              key.endBytes,
            ),
      );
    },
  };
}

/**
 * Writes keys and bounds into the scratch. The lengths of the last range's parts stay in the
 * fields, for the host call that follows immediately.
 */
class KeyEncoder {
  /** Leading columns given by value; in a point, the whole key. */
  prefixColumns = 0;
  prefixBytes = 0;
  startBytes = 0;
  /** 0 = the end equals the start. */
  endBytes = 0;
  readonly #bridge: Bridge;
  readonly #columns: readonly Encode[];
  readonly #writePoint: Encode;

  constructor(bridge: Bridge, columns: readonly Encode[]) {
    this.#bridge = bridge;
    this.#columns = columns;
    this.#writePoint = columns.length === 1 ? (columns[0] as Encode) : this.#writeTuple;
  }

  /** Encodes a whole key and returns its length. */
  point(value: unknown): number {
    return this.#bridge.encode(this.#writePoint, value);
  }

  /** As `point`, but keeps the length in the fields. Always a point. */
  wholePoint(value: unknown): true {
    this.prefixBytes = this.point(value);
    return true;
  }

  /** Encodes bounds: a value, a range, or a list of leading values that can end in a range. */
  bounds(given: unknown): boolean {
    const count = this.#columns.length;
    const isList = isArray(given);
    const givenCount = isList ? given.length : 1;
    if (givenCount > count) throw new TypeError('too many elements');
    const last = isList ? given[givenCount - 1] : given;
    if (givenCount === count && !(last instanceof Range)) {
      this.prefixBytes = isList && count === 1 ? this.point(last) : this.point(given);
      return true;
    }
    this.#bridge.begin();
    try {
      this.#writeBounds(isList ? given : [given], last);
    } catch (error) {
      this.#bridge.abandon();
      throw error;
    }
    this.#bridge.end();
    return false;
  }

  #writeBounds(given: readonly unknown[], last: unknown): void {
    const { writer } = this.#bridge;
    this.prefixColumns = given.length === 0 ? 0 : given.length - 1;
    for (let column = 0; column < this.prefixColumns; column += 1) {
      (this.#columns[column] as Encode)(writer, given[column]);
    }
    this.prefixBytes = writer.length;
    const column = this.#columns[this.prefixColumns] as Encode;
    const range = last instanceof Range ? last : given.length === 0 ? everything : undefined;
    if (range === undefined) {
      writer.u8(boundTags.included);
      column(writer, last);
    } else {
      writeBound(writer, column, range.from);
    }
    this.startBytes = writer.length - this.prefixBytes;
    if (range !== undefined) writeBound(writer, column, range.to);
    this.endBytes = writer.length - this.prefixBytes - this.startBytes;
  }

  readonly #writeTuple: Encode = (writer, value) => {
    const count = this.#columns.length;
    if (!isArray(value) || value.length !== count) throw new TypeError('wrong number of elements');
    for (let column = 0; column < count; column += 1) {
      (this.#columns[column] as Encode)(writer, value[column]);
    }
  };
}

function writeBound(writer: BinaryWriter, column: Encode, bound: Bound<unknown>): void {
  writer.u8(boundTags[bound.tag]);
  if (bound.tag !== 'unbounded') column(writer, bound.value);
}

/** Result of `find` when there is no such row. */
const noSuchRow = -errorCodes.noSuchRow;
const everything = new Range<unknown>();
const missing: AlgebraicType = { kind: 'product', elements: [] };
const { isArray } = Array;
