import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson } from '../values/json.ts';
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
 * The JSON that the HTTP and MCP doors answer a statement with: an array of one result. Rows are
 * positional and keep every digit of wide integers, so the text is written straight from the bytes.
 */
export function sqlResultJson(result: SqlResult): string {
  const rowType: ProductType = { kind: 'product', elements: result.columns };
  const reader = new BinaryReader(result.rows);
  const rows: string[] = [];
  for (let row = 0; row < result.rowCount; row += 1) {
    rows.push(encodedToJson(rowType, reader, 'positional', result.types));
  }
  const { inserted, deleted, updated } = result;
  return (
    `[{"schema":${namedTypesToJson(result.columns)},"rows":[${rows.join(',')}],` +
    `"total_duration_micros":${result.micros},"stats":{"rows_inserted":${inserted},` +
    `"rows_deleted":${deleted},"rows_updated":${updated}}}]`
  );
}
