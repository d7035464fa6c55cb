import { assert } from '../assert.ts';
import type { HashPairs } from './hash-pairs.ts';
import type { RangePart } from './index-body.ts';
import type { TreeKey } from './ordered-key.ts';
import type { RefList } from './ref-list.ts';
import { noRow, type RowRef } from './row-ref.ts';
import { baseOf, type Entry, NodePool, nodeEntries } from './tree-nodes.ts';

/**
 * A B+tree of row refs, ordered by the keys of their rows and, where keys may be equal, by ref.
 *
 * ```
 * inner   (prefix, ref, child) ...   prefix and ref are exactly those of the child's smallest entry
 * leaf    (prefix, ref) ...          no links between leaves: scans keep the path
 * ```
 *
 * Keys are not copied into the tree; a comparison that the prefixes do not decide reads the row of
 * the ref. Since an inner entry's ref is always that of a row in the tree, it never dangles.
 *
 * Nodes split in halves, but a node that overflows at the right end of the tree stays full, so
 * ascending keys fill the tree completely. A node less than a quarter full merges with a neighbour
 * when both together fill at most three quarters.
 *
 * The last search is remembered as a path (a node and a position for each level, level 0 = leaf);
 * the methods that change the tree work at that path.
 */
export class Tree {
  readonly #key: TreeKey;
  readonly #hasTies: boolean;
  #leaves = new NodePool(false);
  #inners = new NodePool(true);
  /** Level of the root; 0 = it is a leaf. */
  #height = 0;
  #root: number;
  #pathNodes = new Int32Array(levelCountMax);
  #pathAt = new Int32Array(levelCountMax);
  #startNodes = new Int32Array(levelCountMax);
  #startAt = new Int32Array(levelCountMax);
  #isHit = false;
  /** Exact prefix of the key that `find` found, as long as the path leads to it; else NaN. */
  #foundPrefix = Number.NaN;
  readonly #entry: Entry = { prefix: 0, ref: 0, child: 0 };

  /** `hasTies`: rows can have equal keys. */
  constructor(key: TreeKey, hasTies: boolean) {
    this.#key = key;
    this.#hasTies = hasTies;
    this.#root = this.#leaves.take();
  }

  get bytes(): number {
    return this.#leaves.bytes + this.#inners.bytes;
  }

  /**
   * Finds the loaded key in a tree without ties. Returns its ref, or `noRow`; the path then marks
   * the place where the key belongs, for `insertHere`.
   */
  find(): RowRef {
    const { prefix, isExact } = this.#key;
    // A row that was read is often written next, and the path is then still valid.
    if (!isExact || prefix !== this.#foundPrefix) {
      this.#descend(true, noRow);
      if (!this.#isHit) return noRow;
      this.#pathAt[0] = (this.#pathAt[0] as number) - 1;
      if (isExact) this.#foundPrefix = prefix;
    }
    const leaf = this.#leafNode();
    return this.#leaves.refs(leaf)[baseOf(leaf) + (this.#pathAt[0] as number)] as RowRef;
  }

  /** Adds `ref`, whose key is loaded, at the path of the last `find`. */
  insertHere(ref: RowRef): void {
    this.#entry.prefix = this.#key.prefix;
    this.#entry.ref = ref;
    this.#insertEntry(0, this.#pathAt[0] as number);
  }

  /** Replaces the row that was found with one of an equal key. */
  replaceHere(ref: RowRef): void {
    const leaf = this.#leafNode();
    const at = this.#pathAt[0] as number;
    this.#leaves.refs(leaf)[baseOf(leaf) + at] = ref;
    if (at === 0) this.#smallestChanged(0);
  }

  /** Adds a stored row. */
  add(ref: RowRef): void {
    this.#key.loadStored(ref);
    this.#descend(true, this.#hasTies ? ref : noRow);
    assert(!this.#isHit, 'an index holds a row once, and a unique one one row for each key');
    this.insertHere(ref);
  }

  /** Adds a stored row whose key, which is loaded, comes after all others. */
  addLast(ref: RowRef): void {
    this.#goToLast();
    this.insertHere(ref);
  }

  /** Adds `ref` at the loaded key, unless it is there. */
  addMissing(ref: RowRef): void {
    this.#descend(true, ref);
    if (!this.#isHit) this.insertHere(ref);
  }

  remove(ref: RowRef): void {
    this.#key.loadStored(ref);
    this.#descend(true, this.#hasTies ? ref : noRow);
    assert(this.#isHit, 'a visible row is in each index of its table');
    this.#pathAt[0] = (this.#pathAt[0] as number) - 1;
    const leaf = this.#leafNode();
    assert(this.#leaves.refs(leaf)[baseOf(leaf) + (this.#pathAt[0] as number)] === ref, 'same row');
    this.#removeEntry(0);
  }

  /** Where the next `collect` begins: before or after all rows that equal the loaded key. */
  startAt(side: 'before' | 'after'): void {
    this.#descend(side === 'after', noRow);
    this.#keepStart();
  }

  startAtFirst(): void {
    this.#foundPrefix = Number.NaN;
    let node = this.#root;
    for (let level = this.#height; level >= 0; level--) {
      this.#pathNodes[level] = node;
      this.#pathAt[level] = 0;
      if (level > 0) node = this.#inners.child(node, 0);
    }
    this.#keepStart();
  }

  /** Appends the rows from the start up to before or after all rows that equal the loaded key. */
  collectTo(side: 'before' | 'after', into: RefList, part?: RangePart): void {
    this.#descend(side === 'after', noRow);
    this.#collectPart(into, part);
  }

  collectToLast(into: RefList, part?: RangePart): void {
    this.#goToLast();
    this.#collectPart(into, part);
  }

  /**
   * Appends prefixes and refs of entries behind the loaded key with `ref`, leaf by leaf until there
   * are `countMax` or more; `noRow`: from the first one on.
   */
  pairsAfter(ref: RowRef, into: HashPairs, countMax: number): void {
    if (ref === noRow) {
      this.startAtFirst();
    } else {
      this.#descend(true, ref);
      this.#keepStart();
    }
    this.#goToLast();
    if (!this.#isStartBeforePath()) return;
    const enough = into.length + countMax;
    for (;;) {
      const leaf = this.#startNodes[0] as number;
      const [prefixes, refs] = [this.#leaves.prefixes(leaf), this.#leaves.refs(leaf)];
      const end = baseOf(leaf) + this.#leaves.count(leaf);
      for (let at = baseOf(leaf) + (this.#startAt[0] as number); at < end; at++) {
        into.push(prefixes[at] as number, refs[at] as RowRef);
      }
      if (leaf === this.#leafNode() || into.length >= enough) return;
      this.#advanceStart();
    }
  }

  /** Sets the path behind the last entry. */
  #goToLast(): void {
    this.#foundPrefix = Number.NaN;
    let node = this.#root;
    for (let level = this.#height; level > 0; level--) {
      const last = this.#inners.count(node) - 1;
      this.#pathNodes[level] = node;
      this.#pathAt[level] = last;
      node = this.#inners.child(node, last);
    }
    this.#pathNodes[0] = node;
    this.#pathAt[0] = this.#leaves.count(node);
  }

  #leafNode(): number {
    return this.#pathNodes[0] as number;
  }

  #pool(level: number): NodePool {
    return level === 0 ? this.#leaves : this.#inners;
  }

  /**
   * Sets the path to the first entry that is greater than the loaded key (`after`), or not smaller.
   * `tieRef`, unless it is `noRow`, continues the comparison among equal keys. `#isHit` tells
   * whether the leaf has an equal entry.
   */
  #descend(after: boolean, tieRef: RowRef): void {
    this.#foundPrefix = Number.NaN;
    let node = this.#root;
    for (let level = this.#height; level > 0; level--) {
      const position = this.#position(this.#inners, node, after, tieRef);
      const at = position > 0 ? position - 1 : 0;
      this.#pathNodes[level] = node;
      this.#pathAt[level] = at;
      node = this.#inners.child(node, at);
    }
    this.#isHit = false;
    this.#pathNodes[0] = node;
    this.#pathAt[0] = this.#position(this.#leaves, node, after, tieRef);
  }

  #position(pool: NodePool, node: number, after: boolean, tieRef: RowRef): number {
    const prefixes = pool.prefixes(node);
    const prefix = this.#key.prefix;
    const base = baseOf(node);
    const end = base + pool.count(node);
    let low = base + countBelow(prefixes, base, end, prefix);
    if (low === end || prefixes[low] !== prefix) return low - base;
    // Usually one entry; a run of equal prefixes is searched by full comparisons.
    let high = low + 1;
    if (high < end && prefixes[high] === prefix) high = low + countUpTo(prefixes, low, end, prefix);
    const refs = pool.refs(node);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#goesAfter(refs[middle] as RowRef, after, tieRef)) low = middle + 1;
      else high = middle;
    }
    return low - base;
  }

  /** Decides where prefixes are equal: does the loaded key go after the entry of `ref`? */
  #goesAfter(ref: RowRef, after: boolean, tieRef: RowRef): boolean {
    let order = this.#key.isExact ? 0 : this.#key.compareStored(ref);
    if (order === 0 && tieRef > 0) order = tieRef - ref;
    if (order !== 0) return order > 0;
    this.#isHit = true;
    return after;
  }

  /**
   * Inserts `#entry` at position `at` of the path's node at this level; splits the node if it is
   * full.
   */
  #insertEntry(level: number, at: number): void {
    const pool = this.#pool(level);
    const node = this.#pathNodes[level] as number;
    if (pool.count(node) < nodeEntries) {
      pool.insert(node, at, this.#entry);
      if (at === 0) this.#smallestChanged(level);
      return;
    }
    const fresh = pool.take();
    const isAppend = at === nodeEntries && this.#isRightmost(level);
    const keep = isAppend ? nodeEntries : nodeEntries / 2;
    pool.moveTail(node, keep, fresh);
    if (at <= keep && !isAppend) pool.insert(node, at, this.#entry);
    else pool.insert(fresh, at - keep, this.#entry);
    if (at === 0) this.#smallestChanged(level);
    if (level === this.#height) this.#raiseRoot(level, node);
    this.#loadEntry(pool, fresh);
    this.#insertEntry(level + 1, (this.#pathAt[level + 1] as number) + 1);
  }

  /** Adds a root above the current one. */
  #raiseRoot(level: number, node: number): void {
    const root = this.#inners.take();
    this.#loadEntry(this.#pool(level), node);
    this.#inners.insert(root, 0, this.#entry);
    this.#root = root;
    this.#height = level + 1;
    assert(this.#height < levelCountMax, 'a tree of 2^31 rows has fewer levels');
    this.#pathNodes[level + 1] = root;
    this.#pathAt[level + 1] = 0;
  }

  /** Makes `#entry` the parent's entry for `node`. */
  #loadEntry(pool: NodePool, node: number): void {
    this.#entry.prefix = pool.prefixes(node)[baseOf(node)] as number;
    this.#entry.ref = pool.refs(node)[baseOf(node)] as number;
    this.#entry.child = node;
  }

  #isRightmost(level: number): boolean {
    for (let above = level + 1; above <= this.#height; above++) {
      const last = this.#inners.count(this.#pathNodes[above] as number) - 1;
      if (this.#pathAt[above] !== last) return false;
    }
    return true;
  }

  /** Updates the nodes above after the first entry of the path's node at this level has changed. */
  #smallestChanged(level: number): void {
    const pool = this.#pool(level);
    const node = this.#pathNodes[level] as number;
    const prefix = pool.prefixes(node)[baseOf(node)] as number;
    const ref = pool.refs(node)[baseOf(node)] as number;
    for (let above = level + 1; above <= this.#height; above++) {
      const parent = this.#pathNodes[above] as number;
      const at = this.#pathAt[above] as number;
      this.#inners.prefixes(parent)[baseOf(parent) + at] = prefix;
      this.#inners.refs(parent)[baseOf(parent) + at] = ref;
      if (at !== 0) return;
    }
  }

  /** Removes the entry at the path's position at this level. */
  #removeEntry(level: number): void {
    const pool = this.#pool(level);
    const node = this.#pathNodes[level] as number;
    const at = this.#pathAt[level] as number;
    pool.remove(node, at);
    const count = pool.count(node);
    if (level === this.#height) {
      this.#lowerRoot();
    } else if (count === 0) {
      pool.give(node);
      this.#removeEntry(level + 1);
    } else {
      if (at === 0) this.#smallestChanged(level);
      if (count < nodeEntries / 4) this.#merge(level);
    }
  }

  /** Removes a root with one child; a tree without rows starts over. */
  #lowerRoot(): void {
    while (this.#height > 0 && this.#inners.count(this.#root) <= 1) {
      const root = this.#root;
      if (this.#inners.count(root) === 0) {
        this.#startOver();
        return;
      }
      this.#root = this.#inners.child(root, 0);
      this.#height--;
      this.#inners.give(root);
    }
    const isEmpty = this.#height === 0 && this.#leaves.count(this.#root) === 0;
    if (isEmpty && this.bytes > keptBytesMax) this.#startOver();
  }

  /** Releases all memory of an emptied tree. */
  #startOver(): void {
    this.#leaves = new NodePool(false);
    this.#inners = new NodePool(true);
    this.#root = this.#leaves.take();
    this.#height = 0;
  }

  /** Merges the path's node at this level with a neighbour, if both together leave room. */
  #merge(level: number): void {
    const pool = this.#pool(level);
    const parent = this.#pathNodes[level + 1] as number;
    const at = this.#pathAt[level + 1] as number;
    const count = pool.count(this.#pathNodes[level] as number);
    for (let right = at; right <= at + 1; right++) {
      if (right === 0 || right >= this.#inners.count(parent)) continue;
      const neighbour = this.#inners.child(parent, right === at ? at - 1 : at + 1);
      if (pool.count(neighbour) + count > (nodeEntries / 4) * 3) continue;
      const from = this.#inners.child(parent, right);
      pool.moveTail(from, 0, this.#inners.child(parent, right - 1));
      pool.give(from);
      this.#pathAt[level + 1] = right;
      this.#removeEntry(level + 1);
      return;
    }
  }

  /** Saves the path as the start of the next `collect`. */
  #keepStart(): void {
    const nodes = this.#startNodes;
    const at = this.#startAt;
    this.#startNodes = this.#pathNodes;
    this.#startAt = this.#pathAt;
    this.#pathNodes = nodes;
    this.#pathAt = at;
  }

  #collectPart(into: RefList, part: RangePart | undefined): void {
    if (part === undefined) this.#collect(into, Number.POSITIVE_INFINITY);
    else if (part.isDescending) this.#collectBack(into, part.countMax);
    else this.#collect(into, part.countMax);
  }

  /** Appends the entries from the path back to the start. */
  #collectBack(into: RefList, countMax: number): void {
    if (!this.#isStartBeforePath()) return;
    const firstLeaf = this.#startNodes[0] as number;
    const end = into.length + countMax;
    for (;;) {
      const leaf = this.#leafNode();
      const refs = this.#leaves.refs(leaf);
      const base = baseOf(leaf);
      const first = leaf === firstLeaf ? (this.#startAt[0] as number) : 0;
      for (let at = (this.#pathAt[0] as number) - 1; at >= first; at--) {
        if (into.length >= end) return;
        into.push(refs[base + at] as RowRef);
      }
      if (leaf === firstLeaf || into.length >= end) return;
      this.#retreatPath();
    }
  }

  /** Moves the path past the last entry of the preceding leaf, which must exist. */
  #retreatPath(): void {
    let level = 1;
    for (; this.#pathAt[level] === 0; level++) {
      assert(level < this.#height, 'a scan backwards ends before the tree does');
    }
    this.#pathAt[level] = (this.#pathAt[level] as number) - 1;
    for (; level > 0; level--) {
      const node = this.#pathNodes[level] as number;
      const below = this.#inners.child(node, this.#pathAt[level] as number);
      this.#pathNodes[level - 1] = below;
      this.#pathAt[level - 1] =
        level > 1 ? this.#inners.count(below) - 1 : this.#leaves.count(below);
    }
  }

  /**
   * Appends the entries from the start up to the path, leaf by leaf until there are `countMax` or
   * more; none if the start is not before the path.
   */
  #collect(into: RefList, countMax: number): void {
    const enough = into.length + countMax;
    if (!this.#isStartBeforePath()) return;
    const lastLeaf = this.#leafNode();
    for (;;) {
      const leaf = this.#startNodes[0] as number;
      const refs = this.#leaves.refs(leaf);
      const base = baseOf(leaf);
      const count = leaf === lastLeaf ? (this.#pathAt[0] as number) : this.#leaves.count(leaf);
      for (let at = this.#startAt[0] as number; at < count; at++) {
        into.push(refs[base + at] as RowRef);
      }
      if (leaf === lastLeaf || into.length >= enough) return;
      this.#advanceStart();
    }
  }

  #isStartBeforePath(): boolean {
    for (let level = this.#height; level >= 0; level--) {
      const start = this.#startAt[level] as number;
      const end = this.#pathAt[level] as number;
      if (start !== end) return start < end;
    }
    return false;
  }

  /** Moves the start to the first entry of the next leaf, which must exist. */
  #advanceStart(): void {
    let level = 1;
    for (; ; level++) {
      const at = (this.#startAt[level] as number) + 1;
      this.#startAt[level] = at;
      if (at < this.#inners.count(this.#startNodes[level] as number)) break;
      assert(level < this.#height, 'a scan ends before the tree does');
    }
    for (; level > 0; level--) {
      const node = this.#startNodes[level] as number;
      this.#startNodes[level - 1] = this.#inners.child(node, this.#startAt[level] as number);
      this.#startAt[level - 1] = 0;
    }
  }
}

/** 16 entries or more in every node but a few: a tree of 2^31 rows has at most 9 levels. */
const levelCountMax = 16;

/** Memory that an empty tree keeps. */
const keptBytesMax = 4_096;

/**
 * The number of sorted `values[from, end)` below `limit`. The comparison is used as a number: an
 * unpredictable branch would double the time.
 */
function countBelow(values: Float64Array, from: number, end: number, limit: number): number {
  let low = from;
  let count = end - from;
  while (count > 1) {
    const half = count >>> 1;
    low += Number((values[low + half - 1] as number) < limit) * half;
    count -= half;
  }
  return low - from + (count === 1 ? Number((values[low] as number) < limit) : 0);
}

/** The number of sorted `values[from, end)` up to and including `limit`. */
function countUpTo(values: Float64Array, from: number, end: number, limit: number): number {
  let low = from;
  let count = end - from;
  while (count > 1) {
    const half = count >>> 1;
    low += Number((values[low + half - 1] as number) <= limit) * half;
    count -= half;
  }
  return low - from + (count === 1 ? Number((values[low] as number) <= limit) : 0);
}
