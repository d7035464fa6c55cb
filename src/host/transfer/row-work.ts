import { present, unreachable } from '../../assert.ts';
import {
  type BatchOptions,
  type ReadStep,
  RowBatches,
  shownRow,
} from '../../transfer/row-batches.ts';
import type { RowFormat, RowTable } from '../../transfer/row-table.ts';
import { RowWriter } from '../../transfer/row-writer.ts';
import { skipperOf } from '../../values/layout.ts';

/** One text that is read or written, by a number of its own. */
export type RowOrder =
  | { readonly kind: 'openReader'; readonly options: BatchOptions }
  | { readonly kind: 'push'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | {
      readonly kind: 'openWriter';
      readonly tables: readonly RowTable[];
      readonly format: RowFormat;
    }
  | {
      readonly kind: 'write';
      /** Position among the tables. */
      readonly table: number;
      readonly rows: Uint8Array;
      readonly count: number;
      /** True of the first rows of a table, behind its header. */
      readonly isFirst: boolean;
    }
  /** Asks for the texts of some of these rows, which a database refused. */
  | { readonly kind: 'show'; readonly rows: Uint8Array; readonly at: readonly number[] }
  | { readonly kind: 'close' };

export type RowResult =
  | { readonly kind: 'step'; readonly step: ReadStep }
  | { readonly kind: 'text'; readonly text: Uint8Array }
  | { readonly kind: 'shown'; readonly rows: readonly string[] }
  | { readonly kind: 'done' };

/** Reads and writes rows as text, for streams of any number of exports and imports. */
export class RowWork {
  readonly #readers = new Map<number, { batches: RowBatches; options: BatchOptions }>();
  readonly #writers = new Map<number, readonly RowWriter[]>();

  /** Throws what the reading or the writing of rows throws. */
  do(stream: number, order: RowOrder): RowResult {
    switch (order.kind) {
      case 'openReader': {
        const { options } = order;
        this.#readers.set(stream, { batches: new RowBatches(options), options });
        return done;
      }
      case 'push':
        return { kind: 'step', step: this.#reader(stream).batches.push(order.bytes) };
      case 'end':
        return { kind: 'step', step: this.#reader(stream).batches.end() };
      case 'openWriter': {
        const writers = order.tables.map((table) => new RowWriter(table, order.format));
        this.#writers.set(stream, writers);
        return done;
      }
      case 'write': {
        const writer = present(this.#writers.get(stream)?.[order.table], 'a table of the export');
        return { kind: 'text', text: textOf(writer, order) };
      }
      case 'show':
        return { kind: 'shown', rows: shownRows(this.#reader(stream).options, order) };
      case 'close':
        this.#readers.delete(stream);
        this.#writers.delete(stream);
        return done;
      default:
        return unreachable(order);
    }
  }

  #reader(stream: number) {
    return present(this.#readers.get(stream), 'an open text');
  }
}

const done: RowResult = { kind: 'done' };

type Write = Extract<RowOrder, { kind: 'write' }>;

function textOf(writer: RowWriter, { rows, count, isFirst }: Write): Uint8Array {
  const pieces = [...writer.pieces(rows, count)].map((piece) => Buffer.from(piece));
  if (isFirst && writer.header !== '') pieces.unshift(Buffer.from(writer.header));
  // A buffer of its own, which is transferred.
  const text = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    text.set(piece, at);
    at += piece.length;
  }
  return text;
}

type Show = Extract<RowOrder, { kind: 'show' }>;

function shownRows({ table, format }: BatchOptions, { rows, at }: Show): readonly string[] {
  const { columns, types } = table;
  const elements = columns.map(({ name, type }) => ({ name, type }));
  const skip = skipperOf({ kind: 'product', elements }, types);
  const writer = new RowWriter(table, format);
  const wanted = new Set(at);
  const shown: string[] = [];
  let start = 0;
  for (let row = 0; shown.length < wanted.size && start < rows.length; row += 1) {
    const end = skip(rows, start);
    if (wanted.has(row)) {
      const [text = ''] = writer.pieces(rows.subarray(start, end), 1);
      shown.push(shownRow(Buffer.from(text.trimEnd())));
    }
    start = end;
  }
  return shown;
}
