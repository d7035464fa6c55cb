/**
 * BM25: how well a text answers a query, by how often its words are in it, how rare they are among
 * all texts, and how long it is.
 */

/** Of all texts that are compared. */
export interface TextStatistics {
  /** How many there are, and their words together. */
  readonly documents: number;
  readonly words: number;
  /** In how many of them each word of the query is. */
  readonly counts: ArrayLike<number>;
}

/** How fast repetition wears off, and how much long texts count less. */
const saturation = 1.2;
const lengthWeight = 0.75;

export interface FoundWords {
  /** How often each word of the query is in the text. */
  readonly counts: ArrayLike<number>;
  readonly isWanted: readonly boolean[];
  readonly length: number;
}

export function scoreOf({ counts, isWanted, length }: FoundWords, all: TextStatistics): number {
  const average = all.documents > 0 ? Math.max(all.words / all.documents, 1) : 1;
  const damping = saturation * (1 - lengthWeight + (lengthWeight * length) / average);
  let score = 0;
  for (let number = 0; number < counts.length; number++) {
    const count = counts[number] ?? 0;
    if (count === 0 || isWanted[number] !== true) continue;
    const having = Math.min(all.counts[number] ?? 0, all.documents);
    const rarity = Math.log(1 + (all.documents - having + 0.5) / (having + 0.5));
    score += (rarity * count * (saturation + 1)) / (count + damping);
  }
  return score;
}
