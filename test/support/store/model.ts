import type { IndexSpec, TableSpec } from '../../../src/schema/catalog.ts';
import { isSparse } from '../../../src/schema/sparse-index.ts';
import { comparatorOf } from '../../../src/values/compare.ts';
import { decodeValue } from '../../../src/values/decode.ts';
import { encodeValue } from '../../../src/values/encode.ts';
import { specialKindOf } from '../../../src/values/special-types.ts';
import type { AlgebraicType, Typespace } from '../../../src/values/type.ts';
import type { SumValue, Value } from '../../../src/values/value.ts';

const noTypes: Typespace = { types: [] };

/**
 * The obvious table: a list of decoded rows that every question walks from end to end. A
 * transaction is a copy of the list, its change the difference of two lists. Compared with the
 * store by the property tests.
 */
export interface ModelRow {
  /** The encoded row in hexadecimal: what makes two rows the same row. */
  readonly hex: string;
  readonly values: readonly Value[];
}

export interface ModelChange {
  readonly inserts: string[];
  readonly deletes: string[];
  readonly truncated: boolean;
}

export class ModelTable {
  readonly spec: TableSpec;
  readonly #rowType: AlgebraicType;
  rows: readonly ModelRow[] = [];
  #before: readonly ModelRow[] = [];
  /** Last value of each sequence, by position in the spec; survives rollbacks. */
  readonly sequences: bigint[];

  constructor(spec: TableSpec, rows: readonly ModelRow[] = [], sequences?: bigint[]) {
    this.spec = spec;
    this.#rowType = { kind: 'product', elements: spec.columns };
    this.rows = rows;
    this.#before = rows;
    this.sequences = sequences ?? spec.sequences.map(() => 0n);
  }

  rowOf(bytes: Uint8Array): ModelRow {
    return { hex: hexOf(bytes), values: decodeValue(this.#rowType, bytes) as Value[] };
  }

  /** The row with its zeros replaced, or `undefined` when a sequence ran out. */
  generate(row: ModelRow): { row: ModelRow; generated: string } | undefined {
    const values = [...row.values];
    let generated = '';
    const inColumnOrder = this.spec.sequences
      .map((sequence, at) => ({ sequence, at }))
      .sort((a, b) => a.sequence.column - b.sequence.column);
    for (const { sequence, at } of inColumnOrder) {
      if (BigInt(values[sequence.column] as number | bigint) !== 0n) continue;
      const next = (this.sequences[at] as bigint) + 1n;
      if (next > sequence.maxValue) return undefined;
      this.sequences[at] = next;
      const isBig = typeof values[sequence.column] === 'bigint';
      values[sequence.column] = isBig ? next : Number(next);
      const type = this.spec.columns[sequence.column]?.type as AlgebraicType;
      generated += hexOf(encodeValue(type, values[sequence.column] as Value));
    }
    return { row: this.rowOf(encodeValue(this.#rowType, values)), generated };
  }

  insert(row: ModelRow): 'done' | 'conflict' {
    if (this.has(row)) return 'done';
    if (this.conflicts(row, undefined).length > 0) return 'conflict';
    this.rows = [...this.rows, row];
    return 'done';
  }

  update(index: IndexSpec, row: ModelRow): 'done' | 'conflict' | 'absent' {
    const old = this.find(index, row);
    if (old === undefined) return 'absent';
    if (this.conflicts(row, old).length > 0) return 'conflict';
    this.rows = [...this.rows.filter((other) => other !== old), row];
    return 'done';
  }

  /** The row that has the key of `row` in a unique index. */
  find(index: IndexSpec, row: ModelRow): ModelRow | undefined {
    return this.rows.find((other) => this.#sharesKey(index, other, row));
  }

  delete(hexes: ReadonlySet<string>): number {
    const before = this.rows.length;
    this.rows = this.rows.filter(({ hex }) => !hexes.has(hex));
    return before - this.rows.length;
  }

  has({ hex }: ModelRow): boolean {
    return this.rows.some((row) => row.hex === hex);
  }

  /** Unique indexes that hold the key of `row` for a row other than `except`. */
  conflicts(row: ModelRow, except: ModelRow | undefined): IndexSpec[] {
    return this.spec.indexes.filter(
      (index) =>
        index.isUnique &&
        this.rows.some((other) => other !== except && this.#sharesKey(index, other, row)),
    );
  }

  /** Whether the rows have the same key of a unique index; absent values are none. */
  #sharesKey(index: IndexSpec, a: ModelRow, b: ModelRow): boolean {
    const lacksValue = index.columns.some((column) => this.#isAbsent(column, a));
    if (lacksValue && isSparse(index, this.spec, noTypes)) return false;
    return this.compareKeys(index, a, b) === 0;
  }

  #isAbsent(column: number, { values }: ModelRow): boolean {
    const type = this.spec.columns[column]?.type as AlgebraicType;
    return specialKindOf(type) === 'option' && (values[column] as SumValue).tag === 1;
  }

  /** Order of two rows by the first `count` columns of an index. */
  compareKeys(index: IndexSpec, a: ModelRow, b: ModelRow, count = index.columns.length): number {
    for (const column of index.columns.slice(0, count)) {
      const order = this.compareColumn(column, a.values[column], b.values[column]);
      if (order !== 0) return order;
    }
    return 0;
  }

  compareColumn(column: number, a: Value | undefined, b: Value | undefined): number {
    const type = this.spec.columns[column]?.type as AlgebraicType;
    return comparatorOf(type)(a as Value, b as Value);
  }

  /** What the open transaction changed; then it is committed. */
  commit(): ModelChange | undefined {
    const inserts = minus(this.rows, this.#before);
    const deletes = minus(this.#before, this.rows);
    const truncated = this.rows.length === 0 && deletes.length > 0;
    if (this.spec.isEvent) this.rows = [];
    this.#before = this.rows;
    if (inserts.length + deletes.length === 0) return undefined;
    return { inserts, deletes, truncated };
  }

  rollback(): void {
    this.rows = this.#before;
  }
}

export function hexOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

function minus(rows: readonly ModelRow[], others: readonly ModelRow[]): string[] {
  const hexes = new Set(others.map(({ hex }) => hex));
  return rows
    .map(({ hex }) => hex)
    .filter((hex) => !hexes.has(hex))
    .sort();
}
