import { assert } from '../assert.ts';
import { hashBytes } from '../values/hash.ts';
import { readCount, skipperOf } from '../values/layout.ts';
import type { AlgebraicType } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import { type FloatNormaliser, floatNormaliserOf } from './canonical-float.ts';
import type { BodyImage, BodyLoad, DerivedBody, DerivedRequest } from './derived-body.ts';
import { HashPairs } from './hash-pairs.ts';
import { InvertedImage, InvertedLoad, type InvertedPairs } from './inverted-image.ts';
import type { TreeKey } from './ordered-key.ts';
import { RefList } from './ref-list.ts';
import type { RefQueue } from './ref-queue.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import { Tree } from './tree.ts';

/**
 * Finds the rows whose array has an element: a B+tree of pairs of an element's hash and a row. Two
 * elements that share a hash give a few rows too many, which the caller tests anyway. Hashes are
 * not secret: chosen elements can make that as many rows as a scan looks at, and no more.
 */
export class InvertedIndex implements DerivedBody, InvertedPairs {
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  readonly #column: number;
  readonly #sortedAtOnce: number;
  readonly #skip: (bytes: Uint8Array, at: number) => number;
  readonly #normalise: FloatNormaliser | undefined;
  readonly #key = new HashKey();
  readonly #tree = new Tree(this.#key, true);
  /** The hashes of the row that was read last, ascending, each once. */
  #hashes = new Uint32Array(16);
  #copy = new Uint8Array(64);

  /** `pairsAtOnce`: how many are sorted together, for tests. */
  constructor(heap: RowHeap, shape: RowShape, column: number, pairsAtOnce = sortedAtOnce) {
    this.#heap = heap;
    this.#shape = shape;
    this.#column = column;
    this.#sortedAtOnce = pairsAtOnce;
    const type = shape.columnTypes[column] as AlgebraicType;
    assert(type.kind === 'array', 'an inverted index is of an array');
    const element = resolveType(type.element, shape.types);
    this.#skip = skipperOf(element, shape.types);
    this.#normalise = floatNormaliserOf(element, shape.types);
  }

  get bytes(): number {
    return this.#tree.bytes;
  }

  add(ref: RowRef): void {
    const count = this.#read(ref);
    for (let at = 0; at < count; at++) {
      this.#key.prefix = this.#hashes[at] as number;
      this.#tree.add(ref);
    }
  }

  /** Entries in the order of the tree fill its nodes, and are near each other. */
  fill(): void {
    const heap = this.#heap;
    const pairs = new HashPairs(firstPairs);
    let ref = heap.nextVisible(noRow);
    for (let isFirst = true; ref !== noRow; isFirst = false) {
      pairs.clear();
      for (; ref !== noRow && pairs.length < this.#sortedAtOnce; ref = heap.nextVisible(ref)) {
        const count = this.#read(ref);
        for (let at = 0; at < count; at++) pairs.push(this.#hashes[at] as number, ref);
      }
      pairs.sort();
      for (let at = 0; at < pairs.length; at++) {
        this.#key.prefix = pairs.hashAt(at);
        if (isFirst) this.#tree.addLast(pairs.refAt(at));
        else this.#tree.add(pairs.refAt(at));
      }
    }
  }

  remove(ref: RowRef): void {
    const count = this.#read(ref);
    for (let at = 0; at < count; at++) {
      this.#key.prefix = this.#hashes[at] as number;
      this.#tree.remove(ref);
    }
  }

  replace(old: RowRef, ref: RowRef): void {
    this.remove(old);
    this.add(ref);
  }

  /** By the last of its elements: first ones are often the same in many rows. */
  requestFor(ref: RowRef): DerivedRequest | undefined {
    const page = this.#heap.pageOf(ref);
    let at = this.#shape.startOf(page, offsetOf(ref), this.#column);
    const count = readCount(page, at);
    if (count === 0) return undefined;
    at += 4;
    for (let left = count - 1; left > 0; left--) at = this.#skip(page, at);
    return { kind: 'inverted', match: 'any', elements: [page.slice(at, this.#skip(page, at))] };
  }

  image(): BodyImage {
    return new InvertedImage(this);
  }

  load(rows: RefQueue): BodyLoad {
    return new InvertedLoad(this, rows);
  }

  holdsSame(other: DerivedBody): boolean {
    if (!(other instanceof InvertedIndex)) return false;
    const [pairs, others] = [new HashPairs(firstPairs), new HashPairs(firstPairs)];
    this.pairsAfter(0, noRow, pairs, Number.POSITIVE_INFINITY);
    other.pairsAfter(0, noRow, others, Number.POSITIVE_INFINITY);
    return pairs.holdsSame(others);
  }

  pairsAfter(hash: number, ref: RowRef, into: HashPairs, countMax: number): void {
    this.#key.prefix = hash;
    this.#tree.pairsAfter(ref, into, countMax);
  }

  addLast(hash: number, ref: RowRef): void {
    this.#key.prefix = hash;
    this.#tree.addLast(ref);
  }

  complete(ref: RowRef): void {
    const count = this.#read(ref);
    for (let at = 0; at < count; at++) {
      this.#key.prefix = this.#hashes[at] as number;
      this.#tree.addMissing(ref);
    }
  }

  collect(request: DerivedRequest, into: RefList): boolean {
    assert(request.kind === 'inverted', 'an inverted index is asked for elements');
    const { match, elements } = request;
    const hashes = new Set(elements.map((element) => this.#hash(element, 0, element.length)));
    if (match === 'any') {
      for (const hash of hashes) this.#collect(hash, into);
      return true;
    }
    if (hashes.size === 0) return false;
    this.#collect(this.#rarest([...hashes]), into);
    return true;
  }

  /** The hash with the fewest rows. All lists are looked into until one of them ends. */
  #rarest(hashes: readonly number[]): number {
    const found = new RefList();
    for (let countMax = firstCount; ; countMax *= countGrowth) {
      for (const hash of hashes) {
        if (hashes.length === 1) return hash;
        this.#collect(hash, found, countMax);
        const { length } = found;
        found.clear();
        if (length < countMax) return hash;
      }
    }
  }

  #collect(hash: number, into: RefList, countMax?: number): void {
    this.#key.prefix = hash;
    this.#tree.startAt('before');
    const part = countMax === undefined ? undefined : { countMax, isDescending: false };
    this.#tree.collectTo('after', into, part);
  }

  /** Reads the hashes of a row and returns their number. */
  #read(ref: RowRef): number {
    assert(ref !== noRow, 'a row is read');
    const page = this.#heap.pageOf(ref);
    let at = this.#shape.startOf(page, offsetOf(ref), this.#column);
    const count = readCount(page, at);
    if (count > this.#hashes.length) this.#hashes = new Uint32Array(count);
    at += 4;
    for (let index = 0; index < count; index++) {
      const end = this.#skip(page, at);
      this.#hashes[index] = this.#hash(page, at, end);
      at = end;
    }
    const distinct = count < 2 ? count : sortedOnce(this.#hashes.subarray(0, count));
    return distinct;
  }

  /** Equal for elements that are equal as values. */
  #hash(bytes: Uint8Array, at: number, end: number): number {
    const normalise = this.#normalise;
    if (normalise === undefined) return hashBytes(bytes, at, end);
    const length = end - at;
    if (length > this.#copy.length) this.#copy = new Uint8Array(length * 2);
    this.#copy.set(bytes.subarray(at, end));
    normalise(this.#copy, 0);
    return hashBytes(this.#copy, 0, length);
  }
}

/** Pairs for which there is room at once, and those that are sorted together: 64 MiB. */
const firstPairs = 1_024;
const sortedAtOnce = 4_194_304;

const firstCount = 64;
const countGrowth = 8;

/** Sorts the list, moves its distinct numbers to the front, and returns how many there are. */
function sortedOnce(list: Uint32Array): number {
  list.sort();
  let length = 0;
  for (let at = 0; at < list.length; at++) {
    if (at > 0 && list[at] === list[at - 1]) continue;
    list[length++] = list[at] as number;
  }
  return length;
}

/** The key of a tree is set by hand: it does not follow from the row alone. */
class HashKey implements TreeKey {
  prefix = 0;
  readonly isExact = true;

  loadStored(): void {}

  compareStored(): number {
    return 0;
  }
}
