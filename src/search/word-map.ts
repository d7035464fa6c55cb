/**
 * Values by words, as many maps: none grows so large that its growth holds up an insert, and words
 * with one start are in one of them.
 */
export class WordMap<Value> {
  readonly #maps: (Map<string, Value> | undefined)[] = new Array(mapCount);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(word: string): Value | undefined {
    return this.#maps[mapOf(word)]?.get(word);
  }

  set(word: string, value: Value): void {
    const number = mapOf(word);
    let map = this.#maps[number];
    if (map === undefined) {
      map = new Map();
      this.#maps[number] = map;
    }
    const before = map.size;
    map.set(word, value);
    this.#size += map.size - before;
  }

  delete(word: string): void {
    const number = mapOf(word);
    const map = this.#maps[number];
    if (map?.delete(word) !== true) return;
    this.#size--;
    if (map.size === 0) this.#maps[number] = undefined;
  }

  /**
   * All words and their values, while words come and go: a word that is there all the time comes at
   * least once.
   */
  *entries(): Generator<readonly [string, Value], void, void> {
    for (let number = 0; number < mapCount; number++) {
      let map: Map<string, Value> | undefined;
      // A map that was emptied meanwhile, and filled again, is another one.
      while (map !== this.#maps[number]) {
        map = this.#maps[number];
        if (map !== undefined) yield* map;
      }
    }
  }

  /** The values of all words that start with `prefix`. */
  startingWith(prefix: string): Value[] {
    const found: Value[] = [];
    const maps = prefix.length >= startUnits ? [this.#maps[mapOf(prefix)]] : this.#maps;
    for (const map of maps) {
      if (map === undefined) continue;
      for (const [word, value] of map) if (word.startsWith(prefix)) found.push(value);
    }
    return found;
  }
}

const mapCount = 256;
const startUnits = 3;

/** By the first characters alone. */
function mapOf(word: string): number {
  let hash = 0;
  const end = Math.min(word.length, startUnits);
  for (let at = 0; at < end; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x9e37_79b1);
  return (hash >>> 16) & (mapCount - 1);
}
