/** Which accounts each transfer moves money between: the same sequence for every system. */
export interface Workload {
  readonly name: 'uniform' | 'skewed';
  readonly accounts: number;
  /** The two accounts of transfer `turn`, which differ, stand at `2 * turn` and after it. */
  readonly pairs: Uint32Array;
}

const pairCount = 2 ** 19;

/** Each account gets as many transfers as any other. */
export function uniform(accounts: number): Workload {
  const random = seededRandom(7);
  return { name: 'uniform', accounts, pairs: pairs(() => Math.floor(random() * accounts)) };
}

/**
 * Zipf's law with exponent 1: the most wanted of 100,000 accounts is in every sixth transfer. Which
 * accounts are wanted says nothing about where they lie.
 */
export function skewed(accounts: number, exponent = 1): Workload {
  const random = seededRandom(11);
  const sums = new Float64Array(accounts);
  let sum = 0;
  for (let rank = 0; rank < accounts; rank += 1) {
    sum += (rank + 1) ** -exponent;
    sums[rank] = sum;
  }
  const places = shuffled(accounts, random);
  return {
    name: 'skewed',
    accounts,
    pairs: pairs(() => places[rankOf(sums, random() * sum)] ?? 0),
  };
}

function pairs(draw: () => number): Uint32Array {
  const drawn = new Uint32Array(2 * pairCount);
  for (let at = 0; at < drawn.length; at += 2) {
    const from = draw();
    let to = draw();
    while (to === from) to = draw();
    drawn[at] = from;
    drawn[at + 1] = to;
  }
  return drawn;
}

/** The first place whose sum is above `drawn`. */
function rankOf(sums: Float64Array, drawn: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > drawn) high = middle;
    else low = middle + 1;
  }
  return low;
}

function shuffled(count: number, random: () => number): Uint32Array {
  const places = Uint32Array.from({ length: count }, (_, at) => at);
  for (let at = count - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    const place = places[at] ?? 0;
    places[at] = places[other] ?? 0;
    places[other] = place;
  }
  return places;
}

/** Marsaglia's xorshift, for the same draws in every run. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
