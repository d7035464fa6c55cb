/**
 * Takes a script apart, so that a piece that was read before, in this program or another one, need
 * not be read again: a program consists of the same library as the others, and of the same
 * functions as before its author saved it.
 *
 * ```
 * var limits = { … };      a piece ends before a line that begins at the margin, after a line
 * function find(id) {      that ends with `;` or `}`, as the bundler prints statements
 *   …
 * }
 * ```
 *
 * The layout is only a guess: a template may have such lines. `read` says whether a piece stands
 * alone: it is a list of whole statements, and the last of them is over, whatever follows. A parser
 * that begins after such a piece is where it would be if it had read all that is before, so if each
 * piece stands alone, they mean together what they mean one by one. One that does not is read with
 * those that follow; returns undefined if a few of them are not enough.
 */
export function readInPieces<Piece>(
  script: string,
  read: (text: string) => Piece | undefined,
): Piece[] | undefined {
  const cuts = cutsOf(script);
  const pieces: Piece[] = [];
  for (let at = 0; at < cuts.length - 1; ) {
    let piece: Piece | undefined;
    // Twice as many each time, so that reading again costs no more than reading.
    let count = 1;
    for (; ; count *= 2) {
      piece = read(script.slice(cuts[at], cuts[at + count]));
      if (piece !== undefined) break;
      if (count === joinedMax || at + count >= cuts.length - 1) return undefined;
    }
    pieces.push(piece);
    at += count;
  }
  return pieces;
}

const joinedMax = 8;

/** Offsets at which a piece may begin, and the end of the script. */
function cutsOf(script: string): number[] {
  const cuts = [0];
  for (let end = script.indexOf('\n'); end >= 0; end = script.indexOf('\n', end + 1)) {
    const last = script.charCodeAt(end - 1);
    if (last !== semicolon && last !== closeBrace) continue;
    if (isAtMargin(script.charCodeAt(end + 1))) cuts.push(end + 1);
  }
  cuts.push(script.length);
  return cuts;
}

const semicolon = 0x3b;
const closeBrace = 0x7d;

/** Letters, `_` and `$`: no space, no bracket, no sign. False for the end of the script. */
function isAtMargin(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x5f ||
    code === 0x24
  );
}
