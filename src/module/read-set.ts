import { limits } from '../limits.ts';
import type { IndexId, TableId } from '../schema/ids.ts';
import { floatNormaliserOf } from '../store/canonical-float.ts';
import type { Index } from '../store/table-index.ts';

/**
 * What a view has read. Its result can change only when a row is inserted into or deleted from one
 * of the tables, or when such a row has one of the keys, whether or not that key had a row before.
 */
export interface ReadSet {
  /** Ids of tables that were read as a whole: scanned, counted, or searched by a range. */
  readonly tables: ReadonlySet<TableId>;
  /** By index id: encoded keys, each under `keyText`. None of an index of a table in `tables`. */
  readonly keys: ReadonlyMap<IndexId, ReadonlySet<string>>;
}

/** Approximate memory of a read set and of its index entries. */
export function readSetBytes({ tables, keys }: ReadSet): number {
  let bytes = tables.size * entryBytes;
  for (const texts of keys.values()) {
    bytes += texts.size * entryBytes;
    for (const text of texts) bytes += text.length;
  }
  return bytes;
}

/** A string or number in a set, and its place in a map to sets. */
const entryBytes = 200;

/** A key as a string, for sets: one character for each byte. */
export function keyText(key: Uint8Array, length: number): string {
  let text = '';
  for (let at = 0; at < length; at += chunkBytes) {
    const chunk = key.subarray(at, Math.min(at + chunkBytes, length));
    text += String.fromCharCode(...chunk);
  }
  return text;
}

/** Bytes passed as arguments of one call. */
const chunkBytes = 1_024;

/**
 * Collects the read set of one view. Where it would be large (more keys than `limits.viewKeysMax`)
 * or equal keys can differ in their bytes (floats), the whole table takes the place of the key,
 * which is always correct.
 */
export class ReadRecorder {
  readonly #tables = new Set<TableId>();
  readonly #keys = new Map<IndexId, RecordedKeys>();
  #keyCount = 0;

  table(tableId: TableId): void {
    this.#tables.add(tableId);
  }

  /** `key[0, length)` is a valid key of the index. */
  key(index: Index, key: Uint8Array, length: number): void {
    const tableId = index.table.spec.id;
    if (this.#tables.has(tableId)) return;
    const known = this.#keys.get(index.spec.id) ?? recordedKeysOf(index);
    this.#keys.set(index.spec.id, known);
    const isLarge = this.#keyCount >= limits.viewKeysMax || length > limits.viewKeyBytesMax;
    if (isLarge || known.hasFloats) {
      this.table(tableId);
      return;
    }
    const { texts } = known;
    const before = texts.size;
    texts.add(keyText(key, length));
    this.#keyCount += texts.size - before;
  }

  finish(): ReadSet {
    const keys = new Map<IndexId, ReadonlySet<string>>();
    for (const [indexId, { index, texts }] of this.#keys) {
      if (!this.#tables.has(index.table.spec.id)) keys.set(indexId, texts);
    }
    return { tables: this.#tables, keys };
  }
}

interface RecordedKeys {
  readonly index: Index;
  readonly hasFloats: boolean;
  readonly texts: Set<string>;
}

function recordedKeysOf(index: Index): RecordedKeys {
  const { columnTypes, types } = index.table.shape;
  const hasFloats = index.spec.columns.some((column) => {
    const type = columnTypes[column];
    return type !== undefined && floatNormaliserOf(type, types) !== undefined;
  });
  return { index, hasFloats, texts: new Set() };
}
