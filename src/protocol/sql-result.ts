import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson, type JsonShape } from '../values/json.ts';
import type { NamedType, ProductType, Typespace } from '../values/type.ts';
import { namedTypesToJson } from '../values/type-codec.ts';

/** A body of this type is JSON: a statement in `sql`, the values of its parameters in `params`. */
export const sqlBodyType = 'application/vnd.reducerdb.sql+json';

/** The result of one SQL statement, as the database gives it. */
export interface SqlResult {
  readonly columns: readonly NamedType[];
  /** What refs in `columns` index; only recursive types have any. */
  readonly types: Typespace;
  /** Encoded rows, one after another, each the product of `columns`. */
  readonly rows: Uint8Array;
  readonly rowCount: number;
  readonly inserted: number;
  readonly deleted: number;
  readonly updated: number;
  readonly micros: number;
}

/**
 * The JSON that the HTTP and MCP doors answer a statement with: an array of one result, with all
 * of its rows, or with these.
 */
export function sqlResultJson(result: SqlResult, rows = rowTexts(result)): string {
  const { inserted, deleted, updated } = result;
  return (
    `[{"schema":${namedTypesToJson(result.columns)},"rows":[${rows.join(',')}],` +
    `"total_duration_micros":${result.micros},"stats":{"rows_inserted":${inserted},` +
    `"rows_deleted":${deleted},"rows_updated":${updated}}}]`
  );
}

function rowTexts(result: SqlResult): readonly string[] {
  return sqlRows(result, firstRow, () => true).rows;
}

type ResultRows = Pick<SqlResult, 'columns' | 'types' | 'rows' | 'rowCount'>;

/** A place between two rows of a result. */
export interface RowPlace {
  /** How many rows stand before it, and how many bytes those take. */
  readonly row: number;
  readonly byte: number;
}

export const firstRow: RowPlace = { row: 0, byte: 0 };

/**
 * Rows of a result from one place to the next, each as JSON with every digit of wide integers, so
 * the text is written straight from the bytes. Ends before the first row that does not fit, or at
 * the end of the result.
 */
export function sqlRows(
  { columns, types, rows: bytes, rowCount }: ResultRows,
  from: RowPlace,
  fits: (row: string, count: number) => boolean,
  shape: JsonShape = 'positional',
): { readonly rows: readonly string[]; readonly next: RowPlace } {
  const rowType: ProductType = { kind: 'product', elements: columns };
  const reader = new BinaryReader(bytes, from.byte);
  const rows: string[] = [];
  let next = from;
  while (next.row < rowCount) {
    const row = encodedToJson(rowType, reader, shape, types);
    if (!fits(row, rows.length)) break;
    rows.push(row);
    next = { row: next.row + 1, byte: reader.offset };
  }
  return { rows, next };
}
