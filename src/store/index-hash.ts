import { assert } from '../assert.ts';
import type { LoadedKey } from './hash-key.ts';
import type { UniqueBody } from './index-body.ts';
import type { RefList } from './ref-list.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';

/**
 * A unique hash index: extendible hashing over open-addressing segments.
 *
 * ```
 * directory   2^depth entries; the top `depth` bits of a hash choose one; several entries may share
 *             a segment, whose own depth is then smaller
 * segment     count | own depth | hash, ref | hash, ref | ...      32-bit words; ref 0 = empty
 * ```
 *
 * Inside a segment the low bits of the hash choose the slot, collisions go to the next slot, and a
 * removal moves later entries back, so there are no tombstones. The hash beside the ref avoids
 * nearly every comparison with a wrong row, and growth reads no row at all.
 *
 * A small index is one segment that doubles. A full-sized segment splits in two instead: no insert
 * ever moves more than one segment, so there is no pause that grows with the table.
 *
 * The hash is not secret, so a client can choose keys that collide. Once a key shares its hash with
 * many others, or lies far from its home, the index is unfit and its owner replaces it.
 */
export class HashIndex implements UniqueBody {
  isUnfit = false;
  #bytes = 0;
  #size = 0;
  #depth = 0;
  #directory: Int32Array[] = [];
  readonly #heap: RowHeap;
  readonly #key: LoadedKey;
  /** Where the last probe ended: its segment, the word of its entry. */
  #segment: Int32Array;
  #word = 0;

  constructor(heap: RowHeap, key: LoadedKey) {
    this.#heap = heap;
    this.#key = key;
    this.#segment = this.#newSegment(firstSlots, 0);
    this.#directory.push(this.#segment);
  }

  get bytes(): number {
    return this.#bytes;
  }

  probe(row: Uint8Array, at: number, length: number): RowRef {
    this.#key.loadRow(row, at, length);
    return this.#seek();
  }

  find(key: Uint8Array, at: number, length: number): RowRef {
    this.#key.loadKey(key, at, length);
    return this.#seek();
  }

  addProbed(ref: RowRef): void {
    this.#enter(this.#key.hash, ref);
  }

  /** Puts a row into the empty slot that was found for it. */
  #enter(hash: number, ref: RowRef): void {
    const segment = this.#segment;
    const count = (segment[countWord] as number) + 1;
    segment[this.#word] = hash;
    segment[this.#word + 1] = ref;
    segment[countWord] = count;
    this.#size++;
    // At most three quarters full: (slots * 3) / 4, two words for each slot.
    if (count * 8 > (segment.length - headerWords) * 3) this.#makeRoom(segment);
  }

  /**
   * Adds the visible rows of the heap, `rowCount` of them, to an empty index. Stops at a row that
   * has the key of another one, and returns it; else `noRow`.
   */
  fillAtOnce(rowCount: number): RowRef {
    this.#makeRoomFor(rowCount);
    const heap = this.#heap;
    let ref = heap.nextVisible(noRow);
    while (ref !== noRow) {
      const hashes = new Int32Array(Math.min(rowCount, filledAtOnce));
      const refs = new Int32Array(hashes.length);
      let count = 0;
      for (; ref !== noRow && count < hashes.length; ref = heap.nextVisible(ref)) {
        this.#key.loadRow(heap.pageOf(ref), offsetOf(ref), heap.lengthOf(ref));
        hashes[count] = this.#key.hash;
        refs[count++] = ref;
      }
      const second = this.#addInOrder(hashes.subarray(0, count), refs);
      if (second !== noRow || this.isUnfit) return second;
    }
    return noRow;
  }

  /** Adds rows segment by segment: those of a large index do not fit the caches together. */
  #addInOrder(hashes: Int32Array, refs: Int32Array): RowRef {
    const shift = 31 - this.#depth;
    const ends = new Int32Array(2 ** this.#depth);
    for (const hash of hashes) (ends[(hash >>> 1) >>> shift] as number)++;
    for (let at = 1; at < ends.length; at++)
      ends[at] = (ends[at] as number) + (ends[at - 1] as number);
    const order = new Int32Array(hashes.length * 2);
    for (let at = hashes.length - 1; at >= 0; at--) {
      const hash = hashes[at] as number;
      const place = (ends[(hash >>> 1) >>> shift] as number) - 1;
      ends[(hash >>> 1) >>> shift] = place;
      order[place * 2] = hash;
      order[place * 2 + 1] = refs[at] as number;
    }
    for (let at = 0; at < order.length; at += 2) {
      const ref = order[at + 1] as RowRef;
      if (!this.#addHashed(order[at] as number, ref)) return ref;
      if (this.isUnfit) return noRow;
    }
    return noRow;
  }

  /** Adds a row whose key has the hash; false if there is a row with that key. */
  #addHashed(hash: number, added: RowRef): boolean {
    const segment = this.#segmentOf(hash);
    const lastWord = segment.length - 2;
    const home = homeWord(segment, hash);
    let word = home;
    for (let ref = segment[word + 1]; ref !== noRow; ref = segment[word + 1]) {
      // The rare row with the same hash is looked for as usual, which counts collisions.
      if (segment[word] === hash) {
        const heap = this.#heap;
        if (this.probe(heap.pageOf(added), offsetOf(added), heap.lengthOf(added)) !== noRow) {
          return false;
        }
        this.addProbed(added);
        return true;
      }
      word = word === lastWord ? headerWords : word + 2;
    }
    if (word - home > walkedWordsMax) this.isUnfit = true;
    this.#segment = segment;
    this.#word = word;
    this.#enter(hash, added);
    return true;
  }

  replaceProbed(ref: RowRef): void {
    this.#segment[this.#word + 1] = ref;
  }

  add(ref: RowRef): void {
    const heap = this.#heap;
    const found = this.probe(heap.pageOf(ref), offsetOf(ref), heap.lengthOf(ref));
    assert(found === noRow, 'a unique index holds one row for each key');
    this.addProbed(ref);
  }

  remove(ref: RowRef): void {
    const heap = this.#heap;
    this.#key.loadRow(heap.pageOf(ref), offsetOf(ref), heap.lengthOf(ref));
    const hash = this.#key.hash;
    const segment = this.#segmentOf(hash);
    const lastWord = segment.length - 2;
    let word = homeWord(segment, hash);
    for (;;) {
      const stored = segment[word + 1] as number;
      if (stored === ref) break;
      assert(stored !== noRow, 'a visible row is in each index of its table');
      word = word === lastWord ? headerWords : word + 2;
    }
    closeGap(segment, word);
    segment[countWord] = (segment[countWord] as number) - 1;
    this.#size--;
    if (this.#size === 0 && segment.length > keptWordsMax) this.#startOver();
  }

  collectPoint(key: Uint8Array, at: number, length: number, into: RefList): void {
    const ref = this.find(key, at, length);
    if (ref !== noRow) into.push(ref);
  }

  #segmentOf(hash: number): Int32Array {
    // Two steps, because a shift by 32 is a shift by 0.
    return this.#directory[(hash >>> 1) >>> (31 - this.#depth)] as Int32Array;
  }

  /** Finds the loaded key, or the empty slot where it belongs. */
  #seek(): RowRef {
    const key = this.#key;
    const hash = key.hash;
    const segment = this.#segmentOf(hash);
    const lastWord = segment.length - 2;
    let word = homeWord(segment, hash);
    let collisions = 0;
    let ref = segment[word + 1] as RowRef;
    while (ref !== noRow) {
      if (segment[word] === hash) {
        if (key.matches(ref)) break;
        collisions++;
      }
      word = word === lastWord ? headerWords : word + 2;
      ref = segment[word + 1] as RowRef;
    }
    const walked = word - homeWord(segment, hash);
    if (collisions > collisionsMax || walked > walkedWordsMax) this.isUnfit = true;
    this.#segment = segment;
    this.#word = word;
    return ref;
  }

  #newSegment(slots: number, depth: number): Int32Array {
    const segment = new Int32Array(headerWords + slots * 2);
    segment[depthWord] = depth;
    this.#bytes += segment.byteLength + directoryEntryBytes;
    return segment;
  }

  /** Releases all memory of an emptied index. */
  #startOver(): void {
    this.#bytes = 0;
    this.#depth = 0;
    this.#segment = this.#newSegment(firstSlots, 0);
    this.#directory = [this.#segment];
  }

  /** Gives an empty index the segments that so many rows need, so that few or none have to grow. */
  #makeRoomFor(rowCount: number): void {
    assert(this.#size === 0, 'only an empty index is filled at once');
    let depth = 0;
    while (rowCount > filledSlots * 2 ** depth && depth < depthMax) depth++;
    let slots = firstSlots;
    while (slots < segmentSlots && rowCount * 4 > slots * 3) slots *= 2;
    this.#bytes = 0;
    this.#depth = depth;
    this.#directory = Array.from({ length: 2 ** depth }, () => this.#newSegment(slots, depth));
    this.#segment = this.#directory[0] as Int32Array;
  }

  #makeRoom(segment: Int32Array): void {
    const slots = (segment.length - headerWords) / 2;
    const depth = segment[depthWord] as number;
    // Splitting does not separate hashes that agree in many bits; then the segment grows instead.
    const isSkewed = 2 ** depth * segmentSlots > this.#size * 16 || depth >= depthMax;
    const splits = slots >= segmentSlots && !isSkewed;
    const low = this.#newSegment(splits ? slots : slots * 2, splits ? depth + 1 : depth);
    const high = splits ? this.#newSegment(slots, depth + 1) : low;
    const some = segment[this.#word] as number;
    this.#bytes -= segment.byteLength + directoryEntryBytes;
    for (let word = headerWords; word < segment.length; word += 2) {
      const ref = segment[word + 1] as RowRef;
      if (ref === noRow) continue;
      const hash = segment[word] as number;
      const isHigh = splits && ((hash >>> (31 - depth)) & 1) === 1;
      insertInto(isHigh ? high : low, hash, ref);
    }
    if (splits && depth === this.#depth) this.#doubleDirectory();
    // Directory entries of the segment: all that begin with its own `depth` bits.
    const span = 1 << (this.#depth - depth);
    const first = ((some >>> 1) >>> (31 - depth)) * span;
    for (let index = 0; index < span; index++) {
      this.#directory[first + index] = index < span / 2 ? low : high;
    }
  }

  #doubleDirectory(): void {
    const doubled: Int32Array[] = [];
    for (const segment of this.#directory) doubled.push(segment, segment);
    this.#directory = doubled;
    this.#depth++;
  }
}

const countWord = 0;
const depthWord = 1;
const headerWords = 2;
const firstSlots = 8;
const segmentSlots = 8192;
const depthMax = 20;
/** Rows of a segment that is filled at once; by chance it gets a few hundred more. */
const filledSlots = 5_000;
/** Rows of which the hashes are ordered together: 64 MiB. */
const filledAtOnce = 4_194_304;
/** Words of the segment that an empty index keeps. */
const keptWordsMax = 128;
/** Distance of an entry from its home; chance makes a tenth of it in a full segment. */
const walkedWordsMax = 4096;
/** Other keys with exactly the hash of one key: with 2^31 random keys even four are unlikely. */
const collisionsMax = 16;
/** A directory entry and the objects behind a typed array, as an estimate for memory accounting. */
const directoryEntryBytes = 200;

function homeWord(segment: Int32Array, hash: number): number {
  const slots = (segment.length - headerWords) >> 1;
  return headerWords + ((hash & (slots - 1)) << 1);
}

function insertInto(segment: Int32Array, hash: number, ref: RowRef): void {
  const lastWord = segment.length - 2;
  let word = homeWord(segment, hash);
  while (segment[word + 1] !== noRow) word = word === lastWord ? headerWords : word + 2;
  segment[word] = hash;
  segment[word + 1] = ref;
  segment[countWord] = (segment[countWord] as number) + 1;
}

/**
 * Empties `gap` and moves later entries of the run back, so that each is reachable from its home.
 */
function closeGap(segment: Int32Array, gap: number): void {
  const lastWord = segment.length - 2;
  const span = segment.length - headerWords;
  let word = gap;
  for (;;) {
    word = word === lastWord ? headerWords : word + 2;
    const ref = segment[word + 1] as number;
    if (ref === noRow) break;
    const hash = segment[word] as number;
    const home = homeWord(segment, hash);
    // The entry may move when the gap lies on the way from its home to where it is.
    const distance = word >= home ? word - home : word - home + span;
    const distanceToGap = word >= gap ? word - gap : word - gap + span;
    if (distanceToGap <= distance) {
      segment[gap] = hash;
      segment[gap + 1] = ref;
      gap = word;
    }
  }
  segment[gap + 1] = noRow;
}
