/**
 * A graph of vectors in which the nearest ones are found by few steps: a hierarchical navigable
 * small world (Malkov and Yashunin, 2016), in which every link goes both ways, so that a node can
 * be removed by its neighbours alone.
 *
 * ```
 * level 2   a ─────────────── f          one node in 256
 * level 1   a ──── c ──────── f ── h     one in 16
 * level 0   a ─ b ─ c ─ d ─ e ─ f ─ g ─ h
 * ```
 *
 * It holds links alone: vectors are read where the rows are, until `remove` returns. The level of a
 * node follows from its ref, so the same inserts and removals give the same graph.
 */
import { assert, present } from '../assert.ts';
import { GraphLinks, linksMax, upperLinksMax } from './graph-links.ts';
import { NodeHeap } from './node-heap.ts';
import { noRow, offsetMask, pageShift, type RowRef } from './row-ref.ts';
import { readVector, type VectorMetric, VectorRuler } from './vector-distance.ts';
import { measureVectors, vectorBatchMax } from './vector-kernel.ts';

/** Where the vector of a row is. */
export interface VectorSource {
  pageOf(ref: RowRef): Uint8Array;
  /** Offset of its first element in the page. */
  startOf(ref: RowRef): number;
}

/** A node, and how far it is; of scalar products the larger is the nearer. */
interface Found {
  readonly node: number;
  readonly distance: number;
}

/** Nodes kept while the place of a new one is sought. */
const insertWidth = 64;
/** Links that a new node gets on each level. */
const newLinks = 16;
export const levelsMax = 8;

export class NearestGraph {
  readonly #metric: VectorMetric;
  readonly #length: number;
  readonly #source: VectorSource;
  #links = new GraphLinks();
  /** By node; freed ones wait in the list. */
  #refs: RowRef[] = [];
  readonly #free: number[] = [];
  /** By page of the rows, then by place in it. */
  readonly #nodes: (Map<number, number> | undefined)[] = [];
  #count = 0;
  #entry = -1;
  #seen = new Uint32Array(1024);
  #pass = 0;
  readonly #near = new NodeHeap(false);
  readonly #best = new NodeHeap(true);
  readonly #list = new Int32Array(linksMax);
  readonly #batch: number[] = [];
  readonly #pages: Uint8Array[] = [];
  readonly #starts: number[] = [];
  readonly #distances = new Float64Array(vectorBatchMax);

  constructor(metric: VectorMetric, length: number, source: VectorSource) {
    this.#metric = metric;
    this.#length = length;
    this.#source = source;
  }

  get size(): number {
    return this.#count;
  }

  /** Bytes of links, refs and the way from refs to nodes. */
  get bytes(): number {
    return this.#links.bytes + this.#refs.length * 56 + this.#seen.byteLength;
  }

  has(ref: RowRef): boolean {
    return this.#nodes[ref >>> pageShift]?.has(ref & offsetMask) === true;
  }

  /** All nodes have smaller numbers. */
  get nodeEnd(): number {
    return this.#refs.length;
  }

  /** The row of a node, or `noRow`. */
  refOf(node: number): RowRef {
    const ref = this.#refs[node] as RowRef;
    const isNode = this.#nodes[ref >>> pageShift]?.get(ref & offsetMask) === node;
    return isNode ? ref : noRow;
  }

  levelOf(node: number): number {
    return this.#links.levelOf(node);
  }

  /** Writes the linked nodes to `into` and returns their number. */
  readLinks(node: number, level: number, into: Int32Array): number {
    return this.#links.read(node, level, into);
  }

  /** Fills an empty graph: with the nodes of `refs` that are not `noRow`, and their links. */
  adopt(links: GraphLinks, refs: RowRef[]): void {
    assert(this.#count === 0, 'a graph is loaded when it is empty');
    this.#links = links;
    this.#refs = refs;
    for (let node = refs.length - 1; node >= 0; node--) {
      const ref = refs[node] as RowRef;
      if (ref === noRow) {
        this.#free.push(node);
        continue;
      }
      this.#place(ref, node);
      this.#count++;
    }
    while (this.#seen.length < refs.length) this.#seen = new Uint32Array(this.#seen.length * 2);
    this.#entry = links.highest() ?? this.#anyNode();
  }

  /** The row is at another place, and its vector is the same. */
  move(old: RowRef, ref: RowRef): void {
    const node = this.#release(old);
    this.#place(ref, node);
  }

  insert(ref: RowRef): void {
    const node = this.#take(ref);
    const level = levelOf(ref);
    this.#links.open(node, level);
    const ruler = this.#rulerOf(node);
    const entry = this.#entry;
    this.#count++;
    if (entry < 0) {
      this.#entry = node;
      return;
    }
    const top = this.#links.levelOf(entry);
    let found = this.#descend(ruler, level);
    for (let at = Math.min(level, top); at >= 0; at--) {
      found = this.#searchLevel(ruler, found, insertWidth, at);
      for (const [index, one] of this.#choose(found, newLinks).entries()) {
        this.#connect(ruler, node, one, at, index === 0);
      }
    }
    if (level > top) this.#entry = node;
  }

  remove(ref: RowRef): void {
    const node = this.#release(ref);
    const level = this.#links.levelOf(node);
    for (let at = level; at >= 0; at--) {
      const neighbours = [...this.#list.subarray(0, this.#links.read(node, at, this.#list))];
      for (const other of neighbours) this.#links.unlink(node, at, other);
      for (const other of neighbours) this.#mend(other, neighbours, at);
    }
    this.#links.close(node);
    this.#count--;
    if (this.#entry === node) this.#entry = this.#links.highest() ?? this.#anyNode();
    this.#free.push(node);
  }

  /**
   * The nearest rows that a search finds which keeps `width` of them on its way: at most so many,
   * the nearest first.
   */
  search(ruler: VectorRuler, width: number): RowRef[] {
    if (this.#entry < 0) return [];
    const found = this.#searchLevel(ruler, this.#descend(ruler, 0), width, 0);
    return found.map(({ node }) => this.#refs[node] as RowRef);
  }

  #take(ref: RowRef): number {
    const node = this.#free.pop() ?? this.#refs.length;
    this.#place(ref, node);
    // What was seen is of no use between searches: it grows without being copied.
    if (node >= this.#seen.length) this.#seen = new Uint32Array(this.#seen.length * 2);
    return node;
  }

  #place(ref: RowRef, node: number): void {
    this.#refs[node] = ref;
    const page = ref >>> pageShift;
    let nodes = this.#nodes[page];
    if (nodes === undefined) {
      nodes = new Map();
      this.#nodes[page] = nodes;
    }
    assert(!nodes.has(ref & offsetMask), 'a row enters the graph once');
    nodes.set(ref & offsetMask, node);
  }

  #release(ref: RowRef): number {
    const page = ref >>> pageShift;
    const nodes = present(this.#nodes[page], 'the nodes of a page');
    const node = present(nodes.get(ref & offsetMask), 'the node of a row');
    nodes.delete(ref & offsetMask);
    if (nodes.size === 0) this.#nodes[page] = undefined;
    return node;
  }

  /** Where no node has links above level 0. */
  #anyNode(): number {
    for (const nodes of this.#nodes) {
      for (const node of nodes?.values() ?? []) return node;
    }
    return -1;
  }

  #rulerOf(node: number): VectorRuler {
    const ref = this.#refs[node] as RowRef;
    const bytes = this.#source.pageOf(ref);
    return new VectorRuler(
      this.#metric,
      readVector(bytes, this.#source.startOf(ref), this.#length),
    );
  }

  /** Goes down from the entry to the nearest node above `level`. */
  #descend(ruler: VectorRuler, level: number): readonly Found[] {
    const entry = this.#entry;
    let found: readonly Found[] = [
      { node: entry, distance: this.#measure(ruler, [entry])[0] ?? 0 },
    ];
    for (let at = this.#links.levelOf(entry); at > level; at--) {
      found = this.#searchLevel(ruler, found, 1, at);
    }
    return found;
  }

  /** The nearest nodes of one level, the nearest first, from `starts` on. */
  #searchLevel(
    ruler: VectorRuler,
    starts: readonly Found[],
    width: number,
    level: number,
  ): Found[] {
    const [near, best] = [this.#near, this.#best];
    near.clear();
    best.clear();
    this.#startPass();
    for (const { node, distance } of starts) {
      this.#seen[node] = this.#pass;
      near.push(node, distance);
      best.push(node, distance);
    }
    while (best.size > width) best.pop();
    while (near.size > 0) {
      if (best.size >= width && near.distance > best.distance) break;
      const fresh = this.#unseenOf(near.pop(), level);
      const distances = this.#measure(ruler, fresh);
      for (let at = 0; at < fresh.length; at++) {
        const distance = distances[at] as number;
        if (best.size >= width && distance >= best.distance) continue;
        const node = fresh[at] as number;
        near.push(node, distance);
        best.push(node, distance);
        if (best.size > width) best.pop();
      }
    }
    const found: Found[] = [];
    while (best.size > 0) {
      const { distance } = best;
      found.push({ node: best.pop(), distance });
    }
    return found.reverse();
  }

  #startPass(): void {
    this.#pass++;
    if (this.#pass < 0xffff_ffff) return;
    this.#seen.fill(0);
    this.#pass = 1;
  }

  #unseenOf(node: number, level: number): readonly number[] {
    const count = this.#links.read(node, level, this.#list);
    const fresh = this.#batch;
    fresh.length = 0;
    for (let at = 0; at < count; at++) {
      const other = this.#list[at] as number;
      if (this.#seen[other] === this.#pass) continue;
      this.#seen[other] = this.#pass;
      fresh.push(other);
    }
    return fresh;
  }

  /** How far nodes are, at most `vectorBatchMax`; valid until the next call. */
  #measure(ruler: VectorRuler, nodes: readonly number[]): Float64Array {
    for (let at = 0; at < nodes.length; at++) {
      const ref = this.#refs[nodes[at] as number] as RowRef;
      this.#pages[at] = this.#source.pageOf(ref);
      this.#starts[at] = this.#source.startOf(ref);
    }
    const places = { pages: this.#pages, starts: this.#starts, count: nodes.length };
    measureVectors(ruler, places, this.#distances);
    for (let at = 0; at < nodes.length; at++) {
      const distance = this.#distances[at] as number;
      if (this.#metric === 'innerProduct') this.#distances[at] = -distance;
      // Vectors that have no distance are behind all that have one.
      if (Number.isNaN(distance)) this.#distances[at] = Number.POSITIVE_INFINITY;
    }
    return this.#distances;
  }

  /**
   * Neighbours for a node that is so far from each of `found`: the nearest, and of the others those
   * that are nearer to it than to any chosen before, so that links lead in all directions.
   */
  #choose(found: readonly Found[], countMax: number): readonly Found[] {
    const chosen: Found[] = [];
    const covered: Found[] = [];
    let open = found;
    for (;;) {
      const [one, ...rest] = open;
      if (one === undefined || chosen.length >= countMax) break;
      chosen.push(one);
      const left: Found[] = [];
      for (let from = 0; from < rest.length; from += vectorBatchMax) {
        const part = rest.slice(from, from + vectorBatchMax);
        const nodes = part.map(({ node }) => node);
        const distances = this.#measure(this.#rulerOf(one.node), nodes);
        for (const [at, other] of part.entries()) {
          const isCovered = (distances[at] as number) < other.distance;
          (isCovered ? covered : left).push(other);
        }
      }
      open = left;
    }
    // Few directions are better than few neighbours.
    const missing = Math.max(0, countMax / 2 - chosen.length);
    if (missing === 0) return chosen;
    covered.sort((a, b) => a.distance - b.distance || a.node - b.node);
    return [...chosen, ...covered.slice(0, missing)];
  }

  /**
   * Links `node`, which `ruler` measures, with another. If that one has no room, it gives up the
   * farthest link that the new one covers, or there is no link at all; with `must`, the farthest.
   */
  #connect(
    ruler: VectorRuler,
    node: number,
    { node: other, distance }: Found,
    level: number,
    must: boolean,
  ): void {
    const links = this.#links;
    if (links.isFull(node, level) || links.has(node, level, other)) return;
    if (links.isFull(other, level)) {
      const given = this.#linkToGiveUp(ruler, { node: other, distance }, level, must);
      if (given === undefined) return;
      links.unlink(other, level, given);
    }
    links.link(node, level, other);
  }

  #linkToGiveUp(
    ruler: VectorRuler,
    { node: other, distance }: Found,
    level: number,
    must: boolean,
  ): number | undefined {
    const known = [...this.#list.subarray(0, this.#links.read(other, level, this.#list))];
    const fromNode = this.#measure(ruler, known).slice(0, known.length);
    const fromOther = this.#measure(this.#rulerOf(other), known);
    let given: number | undefined;
    let farthest = -1;
    let isGivenCovered = false;
    for (const [at, link] of known.entries()) {
      const own = fromOther[at] as number;
      const isNearer = own < distance && (fromNode[at] as number) < distance;
      if (isNearer && !must) return undefined;
      // A node with few links could be lost.
      if (this.#links.count(link, level) <= linksKept) continue;
      const isCovered = (fromNode[at] as number) < own && own > distance;
      if (isGivenCovered && !isCovered) continue;
      if (given === undefined || isCovered !== isGivenCovered || own > farthest) {
        [given, farthest, isGivenCovered] = [link, own, isCovered];
      }
    }
    return isGivenCovered || must || farthest > distance ? given : undefined;
  }

  /** Links a node that has lost a neighbour with the nearest of the neighbour's other ones. */
  #mend(node: number, neighbours: readonly number[], level: number): void {
    const links = this.#links;
    const others = neighbours.filter((other) => other !== node && !links.has(node, level, other));
    if (others.length === 0) return;
    const ruler = this.#rulerOf(node);
    const distances = this.#measure(ruler, others);
    const found = others
      .map((other, at): Found => ({ node: other, distance: distances[at] as number }))
      .sort((a, b) => a.distance - b.distance || a.node - b.node);
    for (const [index, one] of found.slice(0, mendedLinks).entries()) {
      const isAlone = links.count(node, level) <= linksKept;
      this.#connect(ruler, node, one, level, index === 0 && isAlone);
    }
  }
}

/** A link of a node with so many is not given up. */
const linksKept = 2;
/** New links of a node whose neighbour is removed. */
const mendedLinks = 3;

assert(linksMax <= vectorBatchMax && upperLinksMax <= linksMax, 'links are measured at once');
assert(newLinks <= upperLinksMax, 'a new node has room for its links');

/** One of sixteen nodes is on level 1, one of sixteen of those on level 2, and so on. */
function levelOf(ref: RowRef): number {
  let hash = Math.imul(ref ^ (ref >>> 16), 0x45d9f3b);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash ^= hash >>> 16;
  return Math.min(levelsMax, Math.clz32(hash) >>> 2);
}
