import { present } from '../assert.ts';
import type { IndexSpec, TableSpec } from '../schema/catalog.ts';
import type { TypedColumn, TypedExpression } from '../sql/check/typed.ts';
import type { Frame, KeyWriter } from '../sql/expressions/frame.ts';
import type { RowCompiler } from '../sql/expressions/row-compiler.ts';
import type { RowRefs } from '../store/row-ref.ts';
import type { Table } from '../store/table.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { watchKeyOf } from './watch-key.ts';

/** How to find the rows of one relation that match a row of the other. */
export interface JoinProbe {
  /**
   * `joined`: the index is searched for each row of the other relation, which is in the frame.
   * `fixed`: its rows are the same for all of them; they are found once and compared.
   * `undefined`: as `fixed`, with all rows of the table.
   */
  readonly access: { readonly kind: 'joined' | 'fixed'; readonly index: IndexProbe } | undefined;
  /** The value of the join column in this relation's row in the frame. */
  readonly keyOf: (frame: Frame) => number | string;
}

export interface ProbeRequest {
  readonly table: TableSpec;
  readonly own: TypedColumn;
  readonly other: TypedColumn;
  /** Columns that conditions fix. */
  readonly fixed: ReadonlyMap<number, TypedExpression>;
  readonly compiler: RowCompiler;
}

export function compileProbe({ table, own, other, fixed, compiler }: ProbeRequest): JoinProbe {
  const keyOf = keyReader(own, compiler);
  const bound = new Map<number, TypedExpression>(fixed);
  if (!bound.has(own.column)) bound.set(own.column, other);
  const usable = table.indexes.filter(({ columns }) => columns.every((each) => bound.has(each)));
  const [index] = usable.toSorted((a, b) => rankOf(b, own.column) - rankOf(a, own.column));
  if (index === undefined) return { access: undefined, keyOf };
  const keys = index.columns.map((column) => present(bound.get(column), 'a column of the key'));
  const kind = keys.includes(other) ? 'joined' : 'fixed';
  return { access: { kind, index: new IndexProbe(index, compiler.indexKey(keys)) }, keyOf };
}

/** Prefers few rows for a key, then an index on the join column. */
function rankOf({ isUnique, columns }: IndexSpec, joined: number): number {
  const isJoined = columns.includes(joined);
  return (isUnique ? 4 : 0) + (isJoined ? 2 : 0) + columns.length / (columns.length + 1);
}

/** Looks rows up in an index by a key computed from the frame. */
export class IndexProbe {
  readonly #spec: IndexSpec;
  readonly #writeKey: KeyWriter;

  constructor(spec: IndexSpec, writeKey: KeyWriter) {
    this.#spec = spec;
    this.#writeKey = writeKey;
  }

  find(table: Table, frame: Frame): RowRefs {
    const index = present(
      table.indexes.find(({ spec }) => spec.id === this.#spec.id),
      'the index that the query was compiled for',
    );
    keyWriter.reset();
    if (!this.#writeKey(frame, keyWriter)) return noRefs;
    return table.scanPoint(index, keyWriter.source, keyWriter.length);
  }
}

function keyReader(column: TypedColumn, compiler: RowCompiler): JoinProbe['keyOf'] {
  const writeKey = compiler.indexKey([column]);
  return (frame) => {
    keyWriter.reset();
    writeKey(frame, keyWriter);
    return watchKeyOf(keyWriter.source, 0, keyWriter.length);
  };
}

const keyWriter = new BinaryWriter(64);
const noRefs: RowRefs = new Int32Array(0);
