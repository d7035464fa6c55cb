/**
 * The rows that have a word, as refs in ascending order, in little memory: most words are in one
 * row or in a few, and a few words are in most rows. Adding a row twice, or removing one that is
 * not there, changes nothing.
 */

/** A row by itself, a few in a list, or many in blocks. */
export type Postings = number | readonly number[] | LongPostings;

/** Rows of a list. */
const listMax = 64;
const blockMin = 96;
const blockMax = 512;

/** What an engine of JavaScript takes beside the values, about. */
const listBytes = 48;
const blockBytes = 256;

/** Many rows, in blocks of ascending refs. */
export class LongPostings {
  readonly #blocks: Int32Array[] = [];
  readonly #lengths: number[] = [];
  count = 0;
  bytes = 128;

  /** `refs` ascend. */
  constructor(refs: Int32Array) {
    this.addAll(refs);
  }

  /** Adds refs in ascending order; those behind all others come in blocks. */
  addAll(refs: Int32Array): void {
    const lastAt = this.#blocks.length - 1;
    const last = this.#blocks[lastAt]?.[(this.#lengths[lastAt] ?? 0) - 1] ?? -1;
    if ((refs[0] ?? 0) <= last) {
      for (const ref of refs) this.add(ref);
      return;
    }
    for (let from = 0; from < refs.length; from += blockMax) {
      const some = refs.subarray(from, from + blockMax);
      const at = this.#blocks.length;
      this.#newBlock(at, Math.max(blockMin, some.length)).set(some);
      this.#lengths[at] = some.length;
      this.count += some.length;
    }
  }

  add(ref: number): void {
    const at = Math.max(this.#blockOf(ref), 0);
    const block = this.#blocks[at] ?? this.#newBlock(at, blockMin);
    const length = this.#lengths[at] ?? 0;
    const place = placeIn(block, length, ref);
    if (place < length && block[place] === ref) return;
    this.count++;
    if (length === blockMax && place === length) {
      this.#newBlock(at + 1, blockMin)[0] = ref;
      this.#lengths[at + 1] = 1;
      return;
    }
    if (length < blockMax) {
      insertAt(this.#withRoom(at), { place, length, ref });
      this.#lengths[at] = length + 1;
      return;
    }
    this.#split(at);
    this.count--;
    this.add(ref);
  }

  remove(ref: number): void {
    const at = this.#blockOf(ref);
    const block = this.#blocks[at];
    if (block === undefined) return;
    const length = this.#lengths[at] ?? 0;
    const place = placeIn(block, length, ref);
    if (place >= length || block[place] !== ref) return;
    block.copyWithin(place, place + 1, length);
    this.#lengths[at] = length - 1;
    this.count--;
    if (length === 1) this.#dropBlock(at);
    else this.#merge(at);
  }

  /** Writes the refs to `into`, from `at`, and returns where they end. */
  collect(into: Int32Array, at: number): number {
    let end = at;
    for (const [number, block] of this.#blocks.entries()) {
      const length = this.#lengths[number] ?? 0;
      into.set(block.subarray(0, length), end);
      end += length;
    }
    return end;
  }

  /** Writes refs greater than `after` to `into`, as many as it holds, and returns their number. */
  collectAfter(after: number, into: Int32Array): number {
    let count = 0;
    for (let at = Math.max(this.#blockOf(after), 0); at < this.#blocks.length; at++) {
      const block = this.#blocks[at] as Int32Array;
      const length = this.#lengths[at] ?? 0;
      let place = placeIn(block, length, after + 1);
      while (place < length && count < into.length) into[count++] = block[place++] as number;
      if (count === into.length) break;
    }
    return count;
  }

  /** The last block that begins at or before `ref`; -1 if there is none. */
  #blockOf(ref: number): number {
    let [low, high] = [0, this.#blocks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#blocks[middle]?.[0] ?? 0) <= ref) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #newBlock(at: number, size: number): Int32Array {
    const block = new Int32Array(size);
    this.#blocks.splice(at, 0, block);
    this.#lengths.splice(at, 0, 0);
    this.bytes += blockBytes + block.byteLength;
    return block;
  }

  #dropBlock(at: number): void {
    this.bytes -= blockBytes + (this.#blocks[at]?.byteLength ?? 0);
    this.#blocks.splice(at, 1);
    this.#lengths.splice(at, 1);
  }

  /** The block, with room for one more. */
  #withRoom(at: number): Int32Array {
    const block = this.#blocks[at] as Int32Array;
    if ((this.#lengths[at] ?? 0) < block.length) return block;
    const larger = new Int32Array(Math.min((block.length * 3) >> 1, blockMax));
    larger.set(block);
    this.#blocks[at] = larger;
    this.bytes += larger.byteLength - block.byteLength;
    return larger;
  }

  #split(at: number): void {
    const block = this.#blocks[at] as Int32Array;
    const half = blockMax / 2;
    this.#newBlock(at + 1, half + blockMin).set(block.subarray(half));
    this.#lengths[at + 1] = blockMax - half;
    this.#lengths[at] = half;
  }

  /** Joins a block with the next one if both are small. */
  #merge(at: number): void {
    const next = this.#blocks[at + 1];
    const [length, more] = [this.#lengths[at] ?? 0, this.#lengths[at + 1] ?? 0];
    if (next === undefined || length + more > blockMax / 2) return;
    const joined = new Int32Array(blockMax / 2);
    joined.set((this.#blocks[at] as Int32Array).subarray(0, length));
    joined.set(next.subarray(0, more), length);
    this.bytes += joined.byteLength - (this.#blocks[at] as Int32Array).byteLength;
    this.#blocks[at] = joined;
    this.#lengths[at] = length + more;
    this.#dropBlock(at + 1);
  }
}

function placeIn(block: ArrayLike<number>, length: number, ref: number): number {
  // Rows mostly come in the order of their refs.
  if (length === 0 || (block[length - 1] ?? 0) < ref) return length;
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((block[middle] ?? 0) < ref) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Insertion {
  readonly place: number;
  readonly length: number;
  readonly ref: number;
}

function insertAt(block: Int32Array, { place, length, ref }: Insertion): void {
  block.copyWithin(place + 1, place, length);
  block[place] = ref;
}

export function withRef(postings: Postings | undefined, ref: number): Postings {
  if (postings === undefined || postings === ref) return ref;
  if (postings instanceof LongPostings) {
    postings.add(ref);
    return postings;
  }
  const list = typeof postings === 'number' ? [postings] : postings;
  const place = placeIn(list, list.length, ref);
  if (list[place] === ref) return postings;
  // A list of exactly this size, since one that grows takes more.
  const longer = [...list.slice(0, place), ref, ...list.slice(place)];
  return longer.length > listMax ? new LongPostings(Int32Array.from(longer)) : longer;
}

/** `undefined`: no row is left. */
export function withoutRef(postings: Postings, ref: number): Postings | undefined {
  if (postings === ref) return undefined;
  if (typeof postings === 'number') return postings;
  if (postings instanceof LongPostings) {
    postings.remove(ref);
    return postings.count === 0 ? undefined : postings;
  }
  const place = postings.indexOf(ref);
  if (place < 0) return postings;
  const shorter = [...postings.slice(0, place), ...postings.slice(place + 1)];
  return shorter.length === 1 ? shorter[0] : shorter;
}

/** With all of `refs`, which are in ascending order; there is at least one. */
export function withRefs(postings: Postings | undefined, refs: Int32Array): Postings {
  if (postings instanceof LongPostings) {
    postings.addAll(refs);
    return postings;
  }
  if (postings === undefined && refs.length > listMax) return new LongPostings(refs);
  if (postings === undefined && refs.length > 1) return Array.from(refs);
  let all: Postings | undefined = postings;
  for (const ref of refs) all = withRef(all, ref);
  return all ?? 0;
}

/** The first refs greater than `after`: as many as `into` holds. Returns their number. */
export function refsAfter(postings: Postings, after: number, into: Int32Array): number {
  if (postings instanceof LongPostings) return postings.collectAfter(after, into);
  const list = typeof postings === 'number' ? [postings] : postings;
  let count = 0;
  for (const ref of list) if (ref > after && count < into.length) into[count++] = ref;
  return count;
}

export function countOf(postings: Postings): number {
  if (typeof postings === 'number') return 1;
  return postings instanceof LongPostings ? postings.count : postings.length;
}

export function bytesOf(postings: Postings): number {
  if (typeof postings === 'number') return 0;
  return postings instanceof LongPostings ? postings.bytes : listBytes + postings.length * 8;
}

/** The rows of at least one of several words, in ascending order. */
export function union(all: readonly Postings[]): Int32Array {
  const refs = new Int32Array(all.reduce<number>((total, one) => total + countOf(one), 0));
  let end = 0;
  for (const postings of all) {
    if (typeof postings === 'number') refs[end++] = postings;
    else if (postings instanceof LongPostings) end = postings.collect(refs, end);
    else for (const ref of postings) refs[end++] = ref;
  }
  return all.length > 1 ? distinct(refs.sort()) : refs;
}

function distinct(sorted: Int32Array): Int32Array {
  let end = 0;
  for (const ref of sorted) {
    if (end === 0 || sorted[end - 1] !== ref) sorted[end++] = ref;
  }
  return sorted.subarray(0, end);
}

/** The rows of several lists in ascending order that are in at least one. */
export function unionOfRefs(lists: readonly Int32Array[]): Int32Array {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const refs = new Int32Array(lists.reduce((total, { length }) => total + length, 0));
  let end = 0;
  for (const list of lists) {
    refs.set(list, end);
    end += list.length;
  }
  return distinct(refs.sort());
}

/** The rows that are in both of two lists in ascending order. */
export function intersection(left: Int32Array, right: Int32Array): Int32Array {
  const [small, large] = left.length <= right.length ? [left, right] : [right, left];
  const both = new Int32Array(small.length);
  let count = 0;
  let from = 0;
  for (const ref of small) {
    from = gallop(large, from, ref);
    if (large[from] === ref) both[count++] = ref;
  }
  return both.subarray(0, count);
}

/** The first place at or after `from` whose ref is not smaller. */
function gallop(refs: Int32Array, from: number, ref: number): number {
  let step = 1;
  let low = from;
  while (low + step < refs.length && (refs[low + step] ?? 0) < ref) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, refs.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((refs[middle] ?? 0) < ref) low = middle + 1;
    else high = middle;
  }
  return low;
}
