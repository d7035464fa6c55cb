/**
 * The links of a graph of vectors, in both directions, level by level.
 *
 * Links of level 0 are in chunks of `chunkNodes` nodes, each a count and `linksMax` node numbers;
 * a graph that grows gets chunks, and nothing is copied. One node in sixteen has more levels: its
 * links there are arrays of their own.
 */
export const linksMax = 32;
export const upperLinksMax = 16;

const chunkShift = 10;
const chunkNodes = 1 << chunkShift;
const stride = linksMax + 1;
const upperStride = upperLinksMax + 1;

export class GraphLinks {
  readonly #chunks: Int32Array[] = [];
  readonly #upper = new Map<number, Int32Array[]>();
  #upperBytes = 0;

  get bytes(): number {
    return this.#chunks.length * chunkNodes * stride * 4 + this.#upperBytes;
  }

  /** Makes room for a node that has links on levels 0 to `level`. */
  open(node: number, level: number): void {
    const chunk = node >>> chunkShift;
    if (this.#chunks[chunk] === undefined)
      this.#chunks[chunk] = new Int32Array(chunkNodes * stride);
    (this.#chunks[chunk] as Int32Array)[(node & (chunkNodes - 1)) * stride] = 0;
    if (level === 0) return;
    const lists = Array.from({ length: level }, () => new Int32Array(upperStride));
    this.#upper.set(node, lists);
    this.#upperBytes += upperBytesOf(lists);
  }

  /** A node without links ends. */
  close(node: number): void {
    const lists = this.#upper.get(node);
    if (lists === undefined) return;
    this.#upper.delete(node);
    this.#upperBytes -= upperBytesOf(lists);
  }

  levelOf(node: number): number {
    return this.#upper.get(node)?.length ?? 0;
  }

  /** A node on the highest level there is, among those above 0. */
  highest(): number | undefined {
    let found: number | undefined;
    let level = 0;
    for (const [node, lists] of this.#upper) {
      if (lists.length > level) [found, level] = [node, lists.length];
    }
    return found;
  }

  count(node: number, level: number): number {
    const list = this.#listOf(node, level);
    return list[this.#startOf(node, level)] as number;
  }

  isFull(node: number, level: number): boolean {
    return this.count(node, level) >= (level === 0 ? linksMax : upperLinksMax);
  }

  /** Writes the linked nodes to `into` and returns their number. */
  read(node: number, level: number, into: Int32Array): number {
    const list = this.#listOf(node, level);
    const start = this.#startOf(node, level);
    const count = list[start] as number;
    for (let at = 0; at < count; at++) into[at] = list[start + 1 + at] as number;
    return count;
  }

  has(node: number, level: number, other: number): boolean {
    return this.#placeOf(node, level, other) >= 0;
  }

  /** Removes the links of one level, in this direction alone. */
  clear(node: number, level: number): void {
    this.#listOf(node, level)[this.#startOf(node, level)] = 0;
  }

  /** Adds a link in this direction alone; there is room. */
  push(node: number, level: number, other: number): void {
    this.#add(node, level, other);
  }

  /** Both have room, and no link to each other. */
  link(node: number, level: number, other: number): void {
    this.#add(node, level, other);
    this.#add(other, level, node);
  }

  unlink(node: number, level: number, other: number): void {
    this.#drop(node, level, other);
    this.#drop(other, level, node);
  }

  #add(node: number, level: number, other: number): void {
    const list = this.#listOf(node, level);
    const start = this.#startOf(node, level);
    const count = (list[start] as number) + 1;
    list[start] = count;
    list[start + count] = other;
  }

  #drop(node: number, level: number, other: number): void {
    const place = this.#placeOf(node, level, other);
    if (place < 0) return;
    const list = this.#listOf(node, level);
    const start = this.#startOf(node, level);
    const count = list[start] as number;
    list[place] = list[start + count] as number;
    list[start] = count - 1;
  }

  #placeOf(node: number, level: number, other: number): number {
    const list = this.#listOf(node, level);
    const start = this.#startOf(node, level);
    for (let at = start + (list[start] as number); at > start; at--) {
      if (list[at] === other) return at;
    }
    return -1;
  }

  #listOf(node: number, level: number): Int32Array {
    if (level === 0) return this.#chunks[node >>> chunkShift] as Int32Array;
    return (this.#upper.get(node) as Int32Array[])[level - 1] as Int32Array;
  }

  #startOf(node: number, level: number): number {
    return level === 0 ? (node & (chunkNodes - 1)) * stride : 0;
  }
}

/** With what an entry of a map and an array take beside. */
function upperBytesOf(lists: readonly Int32Array[]): number {
  return 64 + lists.length * (upperStride * 4 + 100);
}
