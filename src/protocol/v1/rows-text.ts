/** Rows in protocol v1 as text: a list of strings that themselves contain JSON. */
import { type RowList, rowsOf } from '../row-list.ts';

/** Returns the text of rows; `undefined`: it is long, or `rowToJson` says so of a row. */
export function rowsText(
  rows: RowList,
  rowToJson: (row: Uint8Array) => string | undefined,
  charactersMax: number = Number.POSITIVE_INFINITY,
): string | undefined {
  const texts: string[] = [];
  let characters = 0;
  for (const row of rowsOf(rows)) {
    const json = rowToJson(row);
    if (json === undefined) return undefined;
    const text = JSON.stringify(json);
    characters += text.length;
    if (characters > charactersMax) return undefined;
    texts.push(text);
  }
  return `[${texts.join(',')}]`;
}

/** Bytes and characters that are written in well under a millisecond. */
const stepLength = 32_768;

/**
 * Yields the text of rows in pieces, each written in a step of about a millisecond at most;
 * `rowToPieces` yields the JSON of a row in pieces, none of which ends within a character.
 */
export function* rowsTextPieces(
  rows: RowList,
  rowToPieces: (row: Uint8Array) => Iterable<string>,
): Generator<string, void> {
  let text = '[';
  let length = 0;
  let before = '"';
  for (const row of rowsOf(rows)) {
    text += before;
    before = ',"';
    let isFirst = true;
    for (const part of escapedPieces(rowToPieces(row))) {
      if (!isFirst) {
        yield text;
        text = '';
      }
      isFirst = false;
      text += part;
    }
    text += '"';
    length += row.length;
    if (length + text.length < stepLength) continue;
    yield text;
    text = '';
    length = 0;
  }
  yield `${text}]`;
}

/** Yields what a JSON string with a text in it has between its quotes. */
export function* escapedPieces(pieces: Iterable<string>): Generator<string, void> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const end = endOfPart(piece, at);
      yield JSON.stringify(piece.slice(at, end)).slice(1, -1);
      at = end;
    }
  }
}

/** The end of a part of `piece`, not between the two units of one character. */
function endOfPart(piece: string, start: number): number {
  const end = start + stepLength;
  if (end >= piece.length) return piece.length;
  const isHigh = (piece.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHigh ? end - 1 : end;
}
