import type { Catalog } from '../schema/catalog.ts';
import type { IndexId, TableId } from '../schema/ids.ts';
import type { SequenceMark } from './change-set.ts';
import { type CommitOffset, commitOffset } from './commit-offset.ts';
import { PinLedger } from './pin-ledger.ts';
import { RowArena } from './row-arena.ts';
import type { Sequence } from './sequence.ts';
import { Table } from './table.ts';
import type { Index } from './table-index.ts';

/** State that the files of this room share about one store. Other rooms see `Store`. */
export class StoreState {
  catalog: Catalog;
  offset: CommitOffset = commitOffset(0);
  /** The arena that holds the rows of change sets. */
  readonly arena = new RowArena();
  /** The pins of all tables. */
  readonly pins: PinLedger;
  /** True from `begin` to `commit` or `rollback`. */
  isOpen = false;
  tables = new Map<TableId, Table>();
  indexes = new Map<IndexId, Index>();
  sequences = new Map<number, Sequence>();
  /** Sequences that handed out values since the marks were last taken. */
  #marked: Sequence[] = [];

  constructor(catalog: Catalog, heldBytesMax?: number) {
    this.catalog = catalog;
    this.pins = new PinLedger(heldBytesMax);
    this.setTables(
      catalog,
      catalog.tables.map((spec) => new Table(spec, catalog)),
    );
  }

  /** Replaces the catalog and all tables. Dropped sequences lose their marks. */
  setTables(catalog: Catalog, tables: readonly Table[]): void {
    this.catalog = catalog;
    this.tables = new Map(tables.map((table) => [table.spec.id, table]));
    this.indexes = new Map();
    this.sequences = new Map();
    for (const table of tables) {
      table.pins = this.pins;
      for (const index of table.indexes) this.indexes.set(index.spec.id, index);
      for (const { sequence } of table.sequences) this.sequences.set(sequence.spec.id, sequence);
    }
    const values = new Map(this.#marked.map(({ spec, last }) => [spec.id, last]));
    this.#marked = [];
    for (const sequence of this.sequences.values()) {
      sequence.isMarked = false;
      if (values.has(sequence.spec.id)) this.mark(sequence);
    }
  }

  /** Records that the sequence has handed out a value. */
  mark(sequence: Sequence): void {
    if (sequence.isMarked) return;
    sequence.isMarked = true;
    this.#marked.push(sequence);
  }

  takeSequenceMarks(): readonly SequenceMark[] {
    if (this.#marked.length === 0) return noMarks;
    const marks: SequenceMark[] = [];
    for (const sequence of this.#marked) {
      sequence.isMarked = false;
      if (sequence.last !== undefined) marks.push({ id: sequence.spec.id, value: sequence.last });
    }
    this.#marked = [];
    return marks;
  }

  sequencePositions(): SequencePositions {
    return [...this.sequences.values()].map((sequence) => {
      return { sequence, last: sequence.last, isMarked: sequence.isMarked };
    });
  }

  returnSequences(positions: SequencePositions): void {
    for (const { sequence, last, isMarked } of positions) {
      sequence.returnTo(last);
      sequence.isMarked = isMarked;
    }
    this.#marked = this.#marked.filter(({ isMarked }) => isMarked);
  }

  nextOffset(): CommitOffset {
    this.offset = commitOffset(this.offset + 1);
    return this.offset;
  }
}

/** The positions of all sequences of a store at one moment. */
export type SequencePositions = readonly {
  readonly sequence: Sequence;
  readonly last: bigint | undefined;
  readonly isMarked: boolean;
}[];

const noMarks: readonly SequenceMark[] = [];
