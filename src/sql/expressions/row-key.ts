import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import { borrowWriter, giveBackWriter } from '../functions/borrowed-writer.ts';
import { hasFloats } from '../functions/canonical.ts';
import type { CompileContext } from './compile-context.ts';
import { compileGroupKey } from './compile-key.ts';
import type { SlotLayout } from './frame.ts';
import type { ByteSink } from './row-sink.ts';

/** Bytes that are equal exactly if rows are: `bytes[0, length)`, until more is computed. */
export interface KeyBytes {
  readonly bytes: Uint8Array;
  readonly length: number;
}

export type RowKey = (row: ByteSink) => KeyBytes;

/** An encoded row is its own key, unless it has floats: zero has two encodings. */
export function compileRowKey(
  columns: readonly OutputColumn[],
  layout: SlotLayout,
  { types, subquery }: CompileContext,
): RowKey {
  if (!columns.some(({ type }) => hasFloats(type, types))) return (row) => row;
  const items = columns.map(({ name, ...type }, column): TypedExpression => {
    return { kind: 'column', slot: 0, column, name, ...type };
  });
  const writeKey = compileGroupKey(items, { layoutOf: () => layout, types, subquery });
  return (row) => {
    const writer = borrowWriter();
    const pages = [row.bytes];
    writeKey({ pages, rows: [0], values: [], parameters: [], nowMicros: 0n }, writer);
    const key = { bytes: writer.source, length: writer.length };
    // The key is used before anything else is written.
    giveBackWriter(writer);
    return key;
  };
}
