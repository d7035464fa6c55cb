import { type RowList, rowListCount } from '../protocol/row-list.ts';
import { escapedPieces, rowsText, rowsTextPieces } from '../protocol/v1/rows-text.ts';
import {
  type LongValue,
  laterRows,
  procedureStatusText,
  type RowTexts,
  type UpdateText,
  type ValueText,
} from '../protocol/v1/text.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import {
  encodedToJsonPieces,
  encodedToShortJson,
  JsonTooLongError,
  jsonCharactersMax,
} from '../values/json.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { LateRows } from './late-message.ts';

/** Characters, or bytes, of rows or a value beyond which their text is written in slices. */
export const wholeCharactersMax = 64 * 1024;
/** Characters and bytes that are written at once in one round of the event loop. */
export const wholeRoundMax = 512 * 1024;
/** Characters that are written at once also when more than those were. */
const wholeCharactersMin = 4 * 1024;

export interface RowType {
  readonly type: AlgebraicType;
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

  long({ pieces, byteCount }: LongValue): string {
    this.late.push(new LateRows(pieces, byteCount));
    return laterRows;
  }
}

/** By the bytes of the rows, which clients that watch the same share, in first answers, too. */
const lateRows = new WeakMap<Uint8Array, LateRows>();

/** The text of rows that takes no more time than can be spent at once. */
function wholeText(rowType: RowType | undefined, rows: RowList): string | undefined {
  const charactersMax = charactersLeft();
  if (rows.data.length > charactersMax) return undefined;
  const text = rowsText(rows, (row) => shortJson(rowType, row, charactersMax), charactersMax);
  spend(rows.data.length + (text?.length ?? charactersMax));
  return text;
}

/** Arguments that came as JSON. */
export function givenText(json: string): ValueText {
  if (json.length <= wholeCharactersMax) return json;
  return { byteCount: 2 * json.length, pieces: quoted([json]) };
}

/** Encoded arguments. */
export function argumentsText(type: RowType, bytes: Uint8Array): ValueText {
  const text = wholeValue(type, bytes);
  return text ?? { byteCount: bytes.length, pieces: quoted(valuePieces(type, bytes)) };
}

/** The value of a procedure. */
export function returnedText(type: RowType, bytes: Uint8Array): ValueText {
  const text = wholeValue(type, bytes);
  return text ?? { byteCount: bytes.length, pieces: returnedPieces(type, bytes) };
}

function wholeValue(type: RowType, bytes: Uint8Array): string | undefined {
  const charactersMax = charactersLeft();
  if (bytes.length > charactersMax) return undefined;
  const text = shortJson(type, bytes, charactersMax);
  spend(bytes.length + (text?.length ?? charactersMax));
  return text;
}

function* quoted(pieces: Iterable<string>): Generator<string, void> {
  yield '"';
  yield* escapedPieces(pieces);
  yield '"';
}

/** A status, which is another one if the value turns out to be too long. */
function* returnedPieces(type: RowType, bytes: Uint8Array): Generator<string, void> {
  const pieces: string[] = [];
  try {
    for (const piece of quoted(valuePieces(type, bytes))) {
      pieces.push(piece);
      yield '';
    }
  } catch (error) {
    if (!(error instanceof JsonTooLongError)) throw error;
    yield procedureStatusText(tooLong, { long: () => '' });
    return;
  }
  yield '{"Returned":';
  yield* pieces;
  yield '}';
}

const tooLong = {
  kind: 'internalError',
  message: 'The procedure has run, but as JSON its value is out of proportion to its bytes.',
} as const;

function* piecesOf(rowType: RowType | undefined, rows: RowList): Generator<string, void> {
  yield* rowsTextPieces(rows, (row) => rowPieces(rowType, row));
}

function* rowPieces(rowType: RowType | undefined, row: Uint8Array): Generator<string, void> {
  const isShort = row.length <= wholeCharactersMax;
  const text = isShort ? shortJson(rowType, row, wholeCharactersMax) : undefined;
  if (text !== undefined || rowType === undefined) {
    yield text ?? removedRow;
    return;
  }
  yield* valuePieces(rowType, row);
}

function* valuePieces({ type, typespace }: RowType, bytes: Uint8Array): Generator<string, void> {
  const charactersMax = jsonCharactersMax(bytes.length);
  let characters = 0;
  for (const piece of encodedToJsonPieces(type, new BinaryReader(bytes), 'positional', typespace)) {
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
  const left = Math.min(wholeCharactersMax, wholeRoundMax - spent);
  return Math.max(wholeCharactersMin, left);
}

function spend(length: number): void {
  if (spent === 0) {
    setImmediate(() => {
      spent = 0;
    });
  }
  spent += length;
}
