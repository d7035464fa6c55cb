import { type Holder, Kept } from '../doors/kept.ts';
import { limits } from '../limits.ts';
import type { RowPlace, SqlResult } from '../protocol/sql-result.ts';
import { namedTypesToJson, typespaceToJson } from '../values/type-codec.ts';

/** Rows of one commit that did not fit the result. */
export interface RowsLeft<Result extends SqlResult = SqlResult> {
  readonly result: Result;
  /** Start of the next page. */
  readonly from: RowPlace;
}

/** The caller and the statement of the rows; only the same pair gets the rest. */
export interface CursorOwner extends Holder {
  readonly statement: string;
}

/**
 * Keeps the remaining rows of results under opaque cursors. The two newest cursors of each result
 * are valid, so a client that lost a response can request it again.
 */
export class Cursors<Result extends SqlResult> {
  readonly #kept = new Kept<KeptRows<Result>>({
    countMax: limits.cursorsMax,
    callerCountMax: limits.callerCursorsMax,
    thingBytesMax: limits.cursorBytesMax,
    bytesMax: limits.cursorsBytesMax,
    millisMax: limits.cursorMillisMax,
  });

  /** Returns a cursor for the rows; `undefined` if they are too large to keep. */
  keep(owner: CursorOwner, { result, from }: RowsLeft<Result>): string | undefined {
    const { statement } = owner;
    const byteCount = result.rows.length - from.byte;
    if (byteCount > limits.cursorBytesMax) return undefined;
    // Types count too, because a module chooses the names inside them, and their length.
    const typesJson = namedTypesToJson(result.columns) + typespaceToJson(result.types);
    const place = { row: from.row, byte: 0 };
    const rest = { ...result, rows: result.rows.slice(from.byte) };
    const kept = { statement, result: rest, places: [place] };
    const id = this.#kept.put(owner, kept, byteCount + 2 * (statement.length + typesJson.length));
    return id === undefined ? undefined : cursorOf(id, place);
  }

  /** Returns the rows of a cursor; `undefined` if it is unknown or belongs to another caller. */
  find({ caller, statement }: CursorOwner, cursor: string): RowsLeft<Result> | undefined {
    const { id, row } = partsOf(cursor);
    const kept = this.#kept.get(caller, id);
    const from = kept?.places.find((place) => String(place.row) === row);
    if (kept === undefined || from === undefined || kept.statement !== statement) return undefined;
    return { result: kept.result, from };
  }

  /** Returns the cursor of the page after the one of `cursor`, which stays valid. */
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
  /** Positions of the two newest cursors. */
  places: readonly RowPlace[];
}

function cursorOf(id: string, { row }: RowPlace): string {
  return `${id}.${row}`;
}

function partsOf(cursor: string): { readonly id: string; readonly row: string } {
  const [id = '', row = ''] = cursor.split('.');
  return { id, row };
}
