import { limits } from '../limits.ts';
import { type RowList, rowListCount } from '../protocol/row-list.ts';
import { rowsText, rowsTextPieces } from '../protocol/v1/rows-text.ts';
import { laterRows, type RowTexts, type UpdateText } from '../protocol/v1/text.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import {
  encodedToJsonPieces,
  encodedToShortJson,
  JsonTooLongError,
  jsonCharactersMax,
} from '../values/json.ts';
import type { ProductType, Typespace } from '../values/type.ts';
import { LateRows } from './late-message.ts';

export interface RowType {
  readonly type: ProductType;
  readonly typespace: Typespace;
}

/** The type of the rows of a table; `undefined`: an update of the program removed it meanwhile. */
export type RowTypeOf = (table: string) => RowType | undefined;

/** Rows for all receivers of a message; those of `late` belong where its text says `laterRows`. */
export interface WrittenRows extends UpdateText {
  readonly late: readonly LateRows[];
}

/**
 * The rows of one message as text. Few are written at once; many, and those that are long as JSON,
 * are `late`.
 */
export class MessageRows implements RowTexts {
  readonly #typeOf: RowTypeOf;
  /** In the order of the text. */
  readonly late: LateRows[] = [];

  constructor(typeOf: RowTypeOf) {
    this.#typeOf = typeOf;
  }

  list(table: string, rows: RowList): string {
    if (rowListCount(rows) === 0) return '[]';
    const known = lateRows.get(rows.data);
    if (known?.isUsable !== true) {
      const rowType = this.#typeOf(table);
      const text = wholeText(rowType, rows);
      if (text !== undefined) return text;
      const late = new LateRows(piecesOf(rowType, rows), rows.data.length);
      lateRows.set(rows.data, late);
      this.late.push(late);
    } else {
      this.late.push(known);
    }
    return laterRows;
  }

  written(update: WrittenRows): string {
    this.late.push(...update.late);
    return update.text;
  }
}

/** By the bytes of the rows: clients that watch the same share them, those of first answers, too. */
const lateRows = new WeakMap<Uint8Array, LateRows>();

/** The text of rows that takes no more time than can be spent at once. */
function wholeText(rowType: RowType | undefined, rows: RowList): string | undefined {
  const charactersMax = charactersLeft();
  if (rows.data.length > charactersMax) return undefined;
  const text = rowsText(rows, (row) => shortJson(rowType, row, charactersMax), charactersMax);
  spend(rows.data.length + (text?.length ?? charactersMax));
  return text;
}

function* piecesOf(rowType: RowType | undefined, rows: RowList): Generator<string, void> {
  yield* rowsTextPieces(rows, (row) => rowPieces(rowType, row));
}

function* rowPieces(rowType: RowType | undefined, row: Uint8Array): Generator<string, void> {
  const { wholeRowsCharactersMax } = limits;
  const isShort = row.length <= wholeRowsCharactersMax;
  const text = isShort ? shortJson(rowType, row, wholeRowsCharactersMax) : undefined;
  if (text !== undefined || rowType === undefined) {
    yield text ?? removedRow;
    return;
  }
  const { type, typespace } = rowType;
  const charactersMax = jsonCharactersMax(row.length);
  let characters = 0;
  for (const piece of encodedToJsonPieces(type, new BinaryReader(row), 'positional', typespace)) {
    characters += piece.length;
    if (characters > charactersMax) throw new JsonTooLongError(charactersMax);
    yield piece;
  }
}

function shortJson(
  rowType: RowType | undefined,
  row: Uint8Array,
  charactersMax: number,
): string | undefined {
  if (rowType === undefined) return removedRow;
  const { type, typespace } = rowType;
  return encodedToShortJson(type, new BinaryReader(row), 'positional', charactersMax, typespace);
}

/** A row whose table an update of the program removed while it was queued. */
const removedRow = '[]';

/** What was written at once in this round of the event loop, in bytes and characters. */
let spent = 0;

function charactersLeft(): number {
  const { wholeRowsCharactersMax, wholeRowsRoundMax, wholeRowsCharactersMin } = limits;
  const left = Math.min(wholeRowsCharactersMax, wholeRowsRoundMax - spent);
  return Math.max(wholeRowsCharactersMin, left);
}

function spend(length: number): void {
  if (spent === 0) {
    setImmediate(() => {
      spent = 0;
    });
  }
  spent += length;
}
