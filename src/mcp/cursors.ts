import { limits } from '../limits.ts';
import type { RowPlace, SqlResult } from '../protocol/sql-result.ts';
import { namedTypesToJson, typespaceToJson } from '../values/type-codec.ts';
import { Kept } from './kept.ts';

/** Rows of one commit that were found for a caller and did not fit an answer. */
export interface RowsLeft<Result extends SqlResult = SqlResult> {
  readonly result: Result;
  /** Where the next answer begins. */
  readonly from: RowPlace;
}

/** Whose rows they are, and of which statement: only the same get the rest. */
export interface CursorOwner {
  readonly caller: string;
  readonly statement: string;
}

/**
 * What is left of results, by opaque cursors. Of each result the two newest cursors count, so that
 * whoever lost an answer can ask for it again.
 */
export class Cursors<Result extends SqlResult> {
  readonly #kept = new Kept<KeptRows<Result>>({
    countMax: limits.cursorsMax,
    callerCountMax: limits.callerCursorsMax,
    thingBytesMax: limits.cursorBytesMax,
    bytesMax: limits.cursorsBytesMax,
    millisMax: limits.cursorMillisMax,
  });

  /** The cursor of these rows; `undefined` when they are too many to be kept. */
  keep({ caller, statement }: CursorOwner, { result, from }: RowsLeft<Result>): string | undefined {
    const byteCount = result.rows.length - from.byte;
    if (byteCount > limits.cursorBytesMax) return undefined;
    // Whoever wrote the module chose the names inside of its types, and their length.
    const typesJson = namedTypesToJson(result.columns) + typespaceToJson(result.types);
    const place = { row: from.row, byte: 0 };
    const rest = { ...result, rows: result.rows.slice(from.byte) };
    const kept = { statement, result: rest, places: [place] };
    const id = this.#kept.put(caller, kept, byteCount + 2 * (statement.length + typesJson.length));
    return id === undefined ? undefined : cursorOf(id, place);
  }

  /** The rows behind a cursor; `undefined` when it is unknown, or another's. */
  find({ caller, statement }: CursorOwner, cursor: string): RowsLeft<Result> | undefined {
    const { id, row } = partsOf(cursor);
    const kept = this.#kept.get(caller, id);
    const from = kept?.places.find((place) => String(place.row) === row);
    if (kept === undefined || from === undefined || kept.statement !== statement) return undefined;
    return { result: kept.result, from };
  }

  /** The cursor of the next answer, after the one that `cursor` was for; that one still counts. */
  advance({ caller }: CursorOwner, cursor: string, next: RowPlace): string | undefined {
    const { id, row } = partsOf(cursor);
    const kept = this.#kept.get(caller, id);
    if (kept === undefined) return undefined;
    kept.places = [...kept.places.filter((place) => String(place.row) === row), next];
    return cursorOf(id, next);
  }
}

interface KeptRows<Result> {
  readonly statement: string;
  readonly result: Result;
  /** Where the two newest cursors are. */
  places: readonly RowPlace[];
}

function cursorOf(id: string, { row }: RowPlace): string {
  return `${id}.${row}`;
}

function partsOf(cursor: string): { readonly id: string; readonly row: string } {
  const [id = '', row = ''] = cursor.split('.');
  return { id, row };
}
