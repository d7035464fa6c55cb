/** Something that was made of a text, and of nothing else. */
export interface OfText {
  readonly text: string;
}

/**
 * What was made of recent texts, by the texts themselves: nothing can be mistaken for another one.
 * It holds two halves: once the younger is full, the older one is forgotten, and what is found in
 * it until then moves to the younger.
 */
export class RecentPieces<Piece extends OfText> {
  readonly #halfMax: number;
  readonly #bytesOf: (piece: Piece) => number;
  #young = new Map<string, Piece>();
  #old = new Map<string, Piece>();
  /** Of the younger half. */
  #bytes = 0;

  /** `bytesOf`: the memory that a piece takes, about. */
  constructor(bytesMax: number, bytesOf: (piece: Piece) => number) {
    this.#halfMax = bytesMax / 2;
    this.#bytesOf = bytesOf;
  }

  find(text: string): Piece | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.keep(old);
    return old;
  }

  /** Its text should be an `ownText`. */
  keep(piece: Piece): void {
    const bytes = this.#bytesOf(piece);
    if (bytes > this.#halfMax) return;
    if (this.#bytes + bytes > this.#halfMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    this.#young.set(piece.text, piece);
    this.#bytes += bytes;
  }
}

/** A copy: a part of a longer text keeps all of that in memory. */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
