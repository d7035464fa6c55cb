import { BinaryReader } from '../values/binary-reader.ts';
import {
  encodedToJsonPieces,
  encodedToJsonSteps,
  encodedToShortJson,
  type JsonShape,
} from '../values/json.ts';
import type { AlgebraicType, NamedType, ProductType, Typespace } from '../values/type.ts';
import { namedTypesToJson } from '../values/type-codec.ts';

/** Content type of a JSON body with a statement in `sql` and its parameter values in `params`. */
export const sqlBodyType = 'application/vnd.reducerdb.sql+json';

/** The result of one SQL statement, as the database returns it. */
export interface SqlResult {
  readonly columns: readonly NamedType[];
  /** The types that refs in `columns` index; only recursive types need them. */
  readonly types: Typespace;
  /** Encoded rows, concatenated, each a product of `columns`. */
  readonly rows: Uint8Array;
  readonly rowCount: number;
  readonly inserted: number;
  readonly deleted: number;
  readonly updated: number;
  readonly micros: number;
}

/**
 * Yields the JSON with which the HTTP door answers a statement, in pieces of about this many
 * characters: also within a row, whose text can be millions of times as long as its bytes. With
 * another shape than the positional one rows are objects by column name.
 */
export function* sqlResultPieces(
  result: SqlResult,
  characters: number,
  shape: JsonShape = 'positional',
): Generator<string, void> {
  const { columns, types, rows, rowCount } = result;
  const elements = shape === 'positional' ? columns : withUniqueNames(columns);
  const rowType: ProductType = { kind: 'product', elements };
  const reader = new BinaryReader(rows);
  const { before, behind } = aroundRows(result);
  let piece = before;
  for (let row = 0; row < rowCount; row += 1) {
    if (row > 0) piece += ',';
    const at = reader.offset;
    const text = encodedToShortJson(rowType, reader, shape, characters, types);
    if (text === undefined) {
      reader.reset(rows, at);
      for (const part of encodedToJsonPieces(rowType, reader, shape, types)) {
        yield piece + part;
        piece = '';
      }
      continue;
    }
    piece += text;
    if (piece.length < characters) continue;
    yield piece;
    piece = '';
  }
  yield piece + behind;
}

/** Keys for the values of a row: the second of two columns `id` is `id_2`. */
function withUniqueNames(columns: readonly NamedType[]): NamedType[] {
  const taken = new Set(columns.map(({ name }) => name));
  const seen = new Set<string | undefined>();
  return columns.map(({ name, type }) => {
    let key = name;
    for (let count = 2; seen.has(key); count += 1) {
      const next = `${name}_${count}`;
      if (!taken.has(next)) key = next;
    }
    seen.add(key);
    return { name: key, type };
  });
}

function aroundRows({ columns, micros, inserted, deleted, updated }: SqlResult) {
  return {
    before: `[{"schema":${namedTypesToJson(columns)},"rows":[`,
    behind:
      `],"total_duration_micros":${micros},"stats":{"rows_inserted":${inserted},` +
      `"rows_deleted":${deleted},"rows_updated":${updated}}}]`,
  };
}

type ResultRows = Pick<SqlResult, 'columns' | 'types' | 'rows' | 'rowCount'>;

/** A position between two rows of a result. */
export interface RowPlace {
  /** The number of rows before it, and their size in bytes. */
  readonly row: number;
  readonly byte: number;
}

export const firstRow: RowPlace = { row: 0, byte: 0 };

/** Rows as JSON, and the position behind the last of them. */
interface ShownRows {
  readonly rows: readonly string[];
  readonly next: RowPlace;
}

/**
 * Returns rows of a result from one position to the next, as JSON written directly from the bytes,
 * so wide integers keep every digit. Ends before the first row that does not fit, or at the end of
 * the result.
 */
export function sqlRows(
  result: ResultRows,
  from: RowPlace,
  fits: (row: string, count: number) => boolean,
  shape: JsonShape | 'plainCells' = 'positional',
): ShownRows {
  const steps = sqlRowsSteps(result, from, fits, shape);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** `sqlRows` in steps of a few milliseconds. */
export function* sqlRowsSteps(
  { columns, types, rows: bytes, rowCount }: ResultRows,
  from: RowPlace,
  fits: (row: string, count: number) => boolean,
  shape: JsonShape | 'plainCells' = 'positional',
): Generator<undefined, ShownRows> {
  const rowType: ProductType = { kind: 'product', elements: columns };
  const reader = new BinaryReader(bytes, from.byte);
  const valueSteps = stepsOf({ reader, bytes, types });
  const rows: string[] = [];
  let next = from;
  let characters = 0;
  while (next.row < rowCount) {
    const row =
      shape === 'plainCells'
        ? yield* cellsSteps(columns, valueSteps)
        : yield* valueSteps(rowType, shape);
    if (!fits(row, rows.length)) break;
    rows.push(row);
    next = { row: next.row + 1, byte: reader.offset };
    characters += row.length;
    if (characters < stepCharacters) continue;
    characters = 0;
    yield;
  }
  return { rows, next };
}

type ValueSteps = (type: AlgebraicType, shape: JsonShape) => Generator<undefined, string>;

/** Writes the values of a row in the plain form, as an array in the order of the columns. */
function* cellsSteps(
  columns: readonly NamedType[],
  valueSteps: ValueSteps,
): Generator<undefined, string> {
  const cells: string[] = [];
  for (const { type } of columns) cells.push(yield* valueSteps(type, 'plain'));
  return `[${cells.join(',')}]`;
}

interface ValuesSource {
  readonly reader: BinaryReader;
  readonly bytes: Uint8Array;
  readonly types: Typespace;
}

/** Writes the next value, in steps only if it is long. */
function stepsOf({ reader, bytes, types }: ValuesSource): ValueSteps {
  return function* (type, shape) {
    const at = reader.offset;
    const text = encodedToShortJson(type, reader, shape, stepCharacters, types);
    if (text !== undefined) return text;
    reader.reset(bytes, at);
    return yield* encodedToJsonSteps(type, reader, shape, types);
  };
}

const stepCharacters = 64 * 1024;
