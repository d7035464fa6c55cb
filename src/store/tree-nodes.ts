/** Entries of one node. */
export const nodeEntries = 64;

/** Nodes per chunk of a pool; a pool of fewer nodes has one smaller chunk, which doubles. */
const chunkShift = 8;
const chunkNodes = 1 << chunkShift;
const chunkMask = chunkNodes - 1;

/**
 * The nodes of a B+tree, in typed arrays: no object per node. A node is a number; its entries are
 * (prefix, ref) in leaves and (prefix, ref, child) in inner nodes, where prefix and ref are those
 * of the smallest entry below the child.
 */
export class NodePool {
  bytes = 0;
  readonly #isInner: boolean;
  readonly #prefixes: Float64Array[] = [];
  readonly #refs: Int32Array[] = [];
  readonly #children: Int32Array[] = [];
  #counts = new Int32Array(4);
  #nodeCount = 0;
  readonly #free: number[] = [];

  constructor(isInner: boolean) {
    this.#isInner = isInner;
  }

  /** Returns an empty node. */
  take(): number {
    const node = this.#free.pop() ?? this.#nodeCount++;
    if (node >= this.#counts.length) this.#counts = grow(this.#counts, node * 2);
    const chunk = node >> chunkShift;
    const held = (this.#refs[chunk]?.length ?? 0) / nodeEntries;
    if ((node & chunkMask) >= held) this.#growChunk(chunk, held);
    this.#counts[node] = 0;
    return node;
  }

  give(node: number): void {
    this.#counts[node] = 0;
    this.#free.push(node);
  }

  count(node: number): number {
    return this.#counts[node] as number;
  }

  setCount(node: number, count: number): void {
    this.#counts[node] = count;
  }

  /** The array that holds the node's prefixes, from `baseOf(node)` on. */
  prefixes(node: number): Float64Array {
    return this.#prefixes[node >> chunkShift] as Float64Array;
  }

  refs(node: number): Int32Array {
    return this.#refs[node >> chunkShift] as Int32Array;
  }

  child(node: number, at: number): number {
    const children = this.#children[node >> chunkShift] as Int32Array;
    return children[baseOf(node) + at] as number;
  }

  /** Inserts an entry at `at`; the node must have room. */
  insert(node: number, at: number, entry: Entry): void {
    const count = this.count(node);
    const base = baseOf(node);
    const prefixes = this.prefixes(node);
    const refs = this.refs(node);
    shiftUp(prefixes, base + at, base + count);
    shiftUp(refs, base + at, base + count);
    prefixes[base + at] = entry.prefix;
    refs[base + at] = entry.ref;
    if (this.#isInner) {
      const children = this.#children[node >> chunkShift] as Int32Array;
      shiftUp(children, base + at, base + count);
      children[base + at] = entry.child;
    }
    this.setCount(node, count + 1);
  }

  remove(node: number, at: number): void {
    const end = baseOf(node) + this.count(node);
    const from = baseOf(node) + at;
    this.prefixes(node).copyWithin(from, from + 1, end);
    this.refs(node).copyWithin(from, from + 1, end);
    if (this.#isInner) this.#children[node >> chunkShift]?.copyWithin(from, from + 1, end);
    this.setCount(node, this.count(node) - 1);
  }

  /** Moves the entries from `at` on to the end of another node, which must have room for them. */
  moveTail(node: number, at: number, into: number): void {
    const from = baseOf(node) + at;
    const end = baseOf(node) + this.count(node);
    const to = baseOf(into) + this.count(into);
    this.prefixes(into).set(this.prefixes(node).subarray(from, end), to);
    this.refs(into).set(this.refs(node).subarray(from, end), to);
    if (this.#isInner) {
      const children = this.#children[node >> chunkShift] as Int32Array;
      this.#children[into >> chunkShift]?.set(children.subarray(from, end), to);
    }
    this.setCount(into, this.count(into) + end - from);
    this.setCount(node, at);
  }

  #growChunk(chunk: number, held: number): void {
    // Only the first chunk grows in steps: the others belong to large trees.
    const entries = (chunk > 0 ? chunkNodes : Math.max(1, held * 2)) * nodeEntries;
    const prefixes = new Float64Array(entries);
    const refs = new Int32Array(entries);
    prefixes.set(this.#prefixes[chunk] ?? []);
    refs.set(this.#refs[chunk] ?? []);
    this.#prefixes[chunk] = prefixes;
    this.#refs[chunk] = refs;
    const added = entries - held * nodeEntries;
    this.bytes += added * (8 + 4);
    if (!this.#isInner) return;
    const children = new Int32Array(entries);
    children.set(this.#children[chunk] ?? []);
    this.#children[chunk] = children;
    this.bytes += added * 4;
  }
}

/** One entry on its way into a node; `child` counts in inner nodes only. */
export interface Entry {
  prefix: number;
  ref: number;
  child: number;
}

/** Where the entries of a node begin in the arrays of its chunk. */
export function baseOf(node: number): number {
  return (node & chunkMask) * nodeEntries;
}

/** Moves `items[from, end)` up by one. A loop: a native call costs more than moving half a node. */
function shiftUp(items: Float64Array | Int32Array, from: number, end: number): void {
  for (let index = end; index > from; index--) items[index] = items[index - 1] as number;
}

function grow(items: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(length);
  grown.set(items);
  return grown;
}
