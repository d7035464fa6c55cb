import type { BodyImage, BodyLoad, ImageStep } from './derived-body.ts';
import { GraphLinks, linksMax, upperLinksMax } from './graph-links.ts';
import { ImageError, type ImageReader, type ImageWriter, varintBytesMax } from './image-bytes.ts';
import { keepLargestPart, keepMutualLinks } from './mend-links.ts';
import { levelsMax, type NearestGraph } from './nearest-graph.ts';
import type { RefQueue } from './ref-queue.ts';
import type { RowRanks } from './row-ranks.ts';
import { noRow, type RowRef } from './row-ref.ts';

/**
 * The graph of a column of vectors in a snapshot:
 *
 * ```
 * head     rules of the graph
 * entry    number of the row, levels above 0; for each level from 0 on: count, linked rows
 * ```
 *
 * While it is written, no row enters the graph. Rows leave it, so that two nodes can differ about a
 * link: a loaded graph has those of which both say that they are there.
 */
export class VectorImage implements BodyImage {
  readonly #graph: NearestGraph;
  readonly #links = new Int32Array(linksMax);
  #node = 0;
  #isOpen = false;

  constructor(graph: NearestGraph) {
    this.#graph = graph;
  }

  /** True while entries are written. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  writeHead(into: ImageWriter): void {
    this.#isOpen = true;
    into.varint(graphRules);
  }

  write(into: ImageWriter, ranks: RowRanks, countMax: number): ImageStep {
    for (let left = countMax; left > 0; left -= linksMax) {
      if (this.#node >= this.#graph.nodeEnd) {
        this.#isOpen = false;
        return 'done';
      }
      if (into.room < nodeBytesMax) return 'full';
      this.#writeNode(into, ranks, this.#node++);
    }
    return 'more';
  }

  end(): void {
    this.#isOpen = false;
  }

  #writeNode(into: ImageWriter, ranks: RowRanks, node: number): void {
    const ref = this.#graph.refOf(node);
    const rank = ref === noRow ? -1 : ranks.rankOf(ref);
    if (rank < 0) return;
    const levels = this.#graph.levelOf(node);
    into.varint(rank);
    into.varint(levels);
    for (let level = 0; level <= levels; level++) this.#writeLinks(into, ranks, node, level);
  }

  #writeLinks(into: ImageWriter, ranks: RowRanks, node: number, level: number): void {
    const links = this.#links;
    const found = this.#graph.readLinks(node, level, links);
    let count = 0;
    for (let at = 0; at < found; at++) {
      const rank = ranks.rankOf(this.#graph.refOf(links[at] as number));
      if (rank >= 0) links[count++] = rank;
    }
    into.varint(count);
    for (let at = 0; at < count; at++) into.varint(links[at] as number);
  }
}

/** To be raised when links mean something else. */
const graphRules = 1;
const nodeBytesMax = (2 + (1 + linksMax) + levelsMax * (1 + upperLinksMax)) * varintBytesMax;

/** Where a loaded graph goes. */
export interface LoadedGraph {
  /** The nodes of `refs` that are not `noRow`, with their links. */
  adopt(links: GraphLinks, refs: RowRef[]): void;
  /** A row that has no node. */
  add(ref: RowRef): void;
}

/** A row is a node of its number. */
export class VectorLoad implements BodyLoad {
  readonly #into: LoadedGraph;
  readonly #rows: RefQueue;
  readonly #links = new GraphLinks();
  readonly #refs: RowRef[];

  constructor(into: LoadedGraph, rows: RefQueue) {
    this.#into = into;
    this.#rows = rows;
    this.#refs = Array.from({ length: rows.end }, () => noRow);
  }

  readHead(from: ImageReader): boolean {
    return from.varint() === graphRules;
  }

  read(from: ImageReader): void {
    const { end } = this.#rows;
    while (!from.isAtEnd) {
      const node = from.below(end, 'the number of a row');
      if (this.#refs[node] !== noRow) throw new ImageError(`row ${node} is there twice`);
      const levels = from.below(levelsMax + 1, 'a level');
      this.#refs[node] = this.#rows.at(node);
      this.#links.open(node, levels);
      for (let level = 0; level <= levels; level++) {
        const countMax = level === 0 ? linksMax : upperLinksMax;
        const count = from.below(countMax + 1, 'the number of links');
        for (let left = count; left > 0; left--) {
          this.#links.push(node, level, from.below(end, 'the number of a linked row'));
        }
      }
    }
  }

  /** Rows without a node wait for one, as new rows do. */
  complete(): void {}

  finish(): void {
    const refs = this.#refs;
    const isNode = (node: number) => refs[node] !== noRow;
    keepMutualLinks(this.#links, refs.length, isNode);
    for (const node of keepLargestPart(this.#links, refs.length, isNode)) refs[node] = noRow;
    this.#into.adopt(this.#links, refs);
    for (let node = 0; node < refs.length; node++) {
      if (refs[node] === noRow) this.#into.add(this.#rows.at(node));
    }
  }
}
