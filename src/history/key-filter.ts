/**
 * A Bloom filter of rows: of (table id, encoded primary key), and in tables without one, of (table
 * id, encoded row). Ten bits an entry and seven hashes: one question in a hundred gets a wrong yes,
 * and none a wrong no. An empty filter says yes to everything.
 */
export type KeyFilter = Uint8Array;

/** Number of bits that stand for an entry. */
const keyFilterHashes = 7;

const bitsPerEntry = 10;

/** Places for entries that were added a short while ago, a power of two. */
const recentPlaces = 4096;

/** The entries of a filter that is being built. */
export class KeyCollector {
  /** Both hashes of each entry, one after another. */
  #hashes = new Uint32Array(2048);
  #count = 0;
  /** Of entries that were added a short while ago, by the low bits of their first hashes. */
  readonly #recent = new Uint32Array(2 * recentPlaces);

  constructor() {
    // No first hash has these bits in this place.
    for (let at = 0; at < recentPlaces; at++) this.#recent[2 * at] = ~at;
  }

  /** An update adds the key of its row twice, and few rows may be updated all the time. */
  add(table: number, bytes: Uint8Array, start: number, end: number): void {
    const first = hashOf(0, table, bytes, start, end);
    const second = hashOf(secondSeed, table, bytes, start, end);
    const place = 2 * (first & (recentPlaces - 1));
    if (this.#recent[place] === first && this.#recent[place + 1] === second) return;
    this.#recent[place] = first;
    this.#recent[place + 1] = second;
    if (2 * this.#count === this.#hashes.length) {
      const larger = new Uint32Array(2 * this.#hashes.length);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[2 * this.#count] = first;
    this.#hashes[2 * this.#count + 1] = second;
    this.#count++;
  }

  /** The filter, of at most `bytesMax` bytes; where those are few, it is wrong more often. */
  finish(bytesMax: number): KeyFilter {
    const bytes = Math.min(Math.ceil((this.#different() * bitsPerEntry) / 8), bytesMax);
    const filter = new Uint8Array(Math.max(bytes, 1));
    for (let at = 0; at < this.#count; at++) {
      const first = this.#hashes[2 * at] as number;
      const second = this.#hashes[2 * at + 1] as number;
      for (let turn = 0; turn < keyFilterHashes; turn++) {
        const bit = bitOf(filter, first, second, turn);
        filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7));
      }
    }
    return filter;
  }

  #different(): number {
    const all = new Float64Array(this.#count);
    for (let at = 0; at < this.#count; at++) {
      const high = (this.#hashes[2 * at + 1] as number) >>> 11;
      all[at] = high * 0x1_0000_0000 + (this.#hashes[2 * at] as number);
    }
    all.sort();
    let count = 0;
    for (let at = 0; at < all.length; at++) if (at === 0 || all[at] !== all[at - 1]) count++;
    return count;
  }
}

/** Whether the entry may have been added. */
export function mayHave(filter: KeyFilter, table: number, key: Uint8Array): boolean {
  if (filter.length === 0) return true;
  const first = hashOf(0, table, key, 0, key.length);
  const second = hashOf(secondSeed, table, key, 0, key.length);
  for (let turn = 0; turn < keyFilterHashes; turn++) {
    const bit = bitOf(filter, first, second, turn);
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

function bitOf(filter: KeyFilter, first: number, second: number, turn: number): number {
  return ((first + Math.imul(turn, second | 1)) >>> 0) % (filter.length * 8);
}

/** MurmurHash3 (x86, 32 bits) of the table id as a u32, little-endian, and the bytes. */
function hashOf(
  seed: number,
  table: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  let hash = mix(seed, table);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
    hash = mix(hash, low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24));
  }
  let tail = 0;
  for (let shift = 0; at < end; at++, shift += 8) tail |= (bytes[at] as number) << shift;
  hash ^= scatter(tail) ^ (4 + end - start);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mix(hash: number, word: number): number {
  const mixed = hash ^ scatter(word);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function scatter(word: number): number {
  const scattered = Math.imul(word, 0xcc9e2d51);
  return Math.imul((scattered << 15) | (scattered >>> 17), 0x1b873593);
}

const secondSeed = 0x9747b28c | 0;
