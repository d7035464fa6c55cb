import type { Json } from '../../service/json.ts';
import { runSql, type SqlResult } from '../../service/sql.ts';
import type { Field, ValueType } from '../../service/types.ts';
import type { Connection } from '../../shell/connection.ts';

interface Reading {
  readonly database: string;
  /** The connection of the page, once there is one. */
  readonly connection: Connection | null;
  readonly sql: string;
  /** What the answer has, as far as it is known. */
  readonly columns: readonly Field[];
  readonly signal: AbortSignal;
}

/** An answer, and how long it took. */
export type Read = Pick<SqlResult, 'columns' | 'rows' | 'micros'>;

/**
 * Reads rows over the connection of the page. A statement by a request connects and disconnects by
 * itself: the lifecycle reducers of the module run, and may write. So requests are left to what is
 * read before there is a connection, and to what fails: they say what is wrong, and what to do.
 */
export async function readRows(reading: Reading): Promise<Read> {
  const { database, connection, sql, columns, signal } = reading;
  if (connection?.state.get().kind === 'live' && columns.length > 0) {
    const began = performance.now();
    try {
      const found = await connection.query(sql, { signal });
      const rows = found.map((row) => positionalRow(columns, row));
      return { columns, rows, micros: (performance.now() - began) * 1_000 };
    } catch {
      signal.throwIfAborted();
    }
  }
  return runSql(database, sql, { signal, isConfirmed: false });
}

/** A row of the client in the positional form of SQL over HTTP; its keys are in column order. */
function positionalRow(columns: readonly Field[], row: unknown): readonly Json[] {
  return positionalFields(columns, row, 0);
}

function positionalFields(
  fields: readonly Field[],
  value: unknown,
  depth: number,
): readonly Json[] {
  const parts = Object.values(value as object) as unknown[];
  if (parts.length !== fields.length) throw new TypeError('the row is of other columns');
  return fields.map(({ type }, at) => positional(type, parts[at], depth + 1));
}

const depthMax = 64;

function positional(type: ValueType, value: unknown, depth: number): Json {
  if (depth > depthMax) throw new RangeError(`a value deeper than ${depthMax}`);
  switch (type.kind) {
    case 'bool':
    case 'string':
      return value as boolean | string;
    case 'integer':
      return integer(value as number | bigint, type.bits);
    case 'float':
      return Number.isFinite(value) ? float(value as number, type.bits) : null;
    case 'bytes':
      return Array.from(value as Uint8Array, hexOfByte).join('');
    case 'unit':
      return [];
    case 'option': {
      if (value === undefined) return [1, []];
      const some = type.some();
      // The client shows nothing and a nothing inside of something alike.
      if (some.kind === 'option') throw new TypeError('an option in an option');
      return [0, positional(some, value, depth + 1)];
    }
    case 'array':
      return Array.from(value as Iterable<unknown>, (item) => {
        return positional(type.item(), item, depth + 1);
      });
    case 'product':
      return positionalFields(type.fields(), value, depth);
    case 'sum':
      return variant(type.variants(), value as { tag: string; value?: unknown }, depth);
    default: {
      // Identities, times and their like hold one integer.
      const [inner] = Object.values(value as object) as bigint[];
      if (typeof inner !== 'bigint') throw new TypeError(`no ${type.kind}`);
      return [integer(inner, type.kind === 'identity' ? 256 : 128)];
    }
  }
}

function variant(
  variants: readonly Field[],
  { tag, value }: { readonly tag: string; readonly value?: unknown },
  depth: number,
): Json {
  const at = variants.findIndex(({ name }) => folded(name) === folded(tag));
  const type = variants[at]?.type;
  if (type === undefined) throw new TypeError(`no variant ${tag}`);
  return [at, positional(type, value, depth + 1)];
}

/** The client spells variants in its own way. */
function folded(name: string): string {
  return name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
}

/** As `parseJson` reads it: a text with 16 digits or more, and one of hex digits with 256 bits. */
function integer(value: number | bigint, bits: number): Json {
  if (bits === 256) return `${value < 0n ? '-' : ''}0x${magnitude(BigInt(value)).toString(16)}`;
  const digits = String(value);
  return /^-?\d{16,}$/.test(digits) ? digits : Number(value);
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

const float32DigitsMax = 9;

/** The shortest number that is this one in its width. */
function float(value: number, bits: number): number {
  for (let digits = 1; bits === 32 && digits <= float32DigitsMax; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

function hexOfByte(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
