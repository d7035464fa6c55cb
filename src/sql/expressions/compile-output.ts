import { assert } from '../../assert.ts';
import { skipperOf } from '../../values/layout.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import { borrowWriter, giveBackWriter } from '../functions/borrowed-writer.ts';
import { noneBytes, noneTag, someBytes, someTag } from '../functions/option-bytes.ts';
import { valueWriterOf } from '../functions/value-codec.ts';
import { lengthOf } from './charge.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Frame } from './frame.ts';
import { type Place, placeOf } from './place.ts';
import { locatorOf } from './row-layout.ts';
import { type RowSink, requireRowBytes } from './row-sink.ts';

/** Appends one output row, encoded as the product of its columns. */
export type OutputWriter = (frame: Frame, into: RowSink) => void;

/**
 * Writes the values of `items` as `columns` say: a nullable column is an Option of its type. Values
 * that are encoded in a row are copied, neighbouring columns at once.
 */
export function compileOutput(
  items: readonly TypedExpression[],
  columns: readonly OutputColumn[],
  context: CompileContext,
): OutputWriter {
  const steps: OutputWriter[] = [];
  for (let at = 0; at < items.length; ) {
    const runLength = plainRun(items, columns, at, context);
    const item = items[at] as TypedExpression;
    if (runLength > 0) steps.push(copyColumns(item, runLength, context));
    else steps.push(outputOf(item, (columns[at] as OutputColumn).isNullable, context));
    at += Math.max(runLength, 1);
  }
  const [only] = steps;
  if (only !== undefined && steps.length === 1) return only;
  return (frame, into) => {
    for (const step of steps) step(frame, into);
  };
}

/** The number of items from `at` on that are adjacent columns with the bytes of the output. */
function plainRun(
  items: readonly TypedExpression[],
  columns: readonly OutputColumn[],
  at: number,
  context: CompileContext,
): number {
  const first = items[at];
  if (first?.kind !== 'column') return 0;
  let length = 0;
  for (; at + length < items.length; length++) {
    const item = items[at + length];
    const column = columns[at + length];
    if (item?.kind !== 'column' || column === undefined) break;
    const { nullableColumns } = context.layoutOf(item.slot);
    const isEncodedAlike = (nullableColumns[item.column] === true) === column.isNullable;
    const isNext = item.slot === first.slot && item.column === first.column + length;
    if (!isNext || !isEncodedAlike) break;
  }
  return length;
}

/** Copies `count` columns, starting with `first`. */
function copyColumns(first: TypedExpression, count: number, context: CompileContext): OutputWriter {
  const { slot, column } = first as Extract<TypedExpression, { kind: 'column' }>;
  const { shape } = context.layoutOf(slot);
  const locate = locatorOf(shape, column);
  const last = column + count - 1;
  const locateLast = locatorOf(shape, last);
  const types = shape.columnTypes.slice(column, last + 1);
  const isOptions = types.every((type) => specialKindOf(type) === 'option');
  const none = new Uint8Array(count).fill(noneTag);
  return (frame, into) => {
    const bytes = frame.pages[slot];
    if (bytes === undefined) {
      assert(isOptions, 'only columns that may be null are read without a row');
      into.append(none, 0, count);
      return;
    }
    const row = frame.rows[slot] as number;
    into.append(bytes, locate(bytes, row), shape.skip(bytes, locateLast(bytes, row), last));
  };
}

function outputOf(
  item: TypedExpression,
  isNullable: boolean,
  context: CompileContext,
): OutputWriter {
  const place = placeOf(item, context);
  if (place === undefined) return computed(item, isNullable, context);
  return isNullable ? copyNullable(place, context) : copyValue(place, context);
}

/** Copies a value that is never null as it is encoded. */
function copyValue(
  { slot, locate, type, withoutRow }: Place,
  context: CompileContext,
): OutputWriter {
  const skip = skipperOf(type, context.types);
  return (frame, into) => {
    const bytes = frame.pages[slot];
    if (bytes === undefined) {
      assert(withoutRow !== undefined, 'a column that is not nullable has a row');
      into.append(withoutRow, 0, withoutRow.length);
      return;
    }
    const at = locate(bytes, frame.rows[slot] as number);
    assert(at >= 0, 'a column that is not nullable has a value');
    into.append(bytes, at, skip(bytes, at));
  };
}

/** Writes a value as an Option: its tag, then the encoded value. */
function copyNullable({ slot, locate, type }: Place, context: CompileContext): OutputWriter {
  const skip = skipperOf(type, context.types);
  return (frame, into) => {
    const bytes = frame.pages[slot];
    const at = bytes === undefined ? -1 : locate(bytes, frame.rows[slot] as number);
    if (bytes === undefined || at < 0) {
      into.append(noneBytes, 0, 1);
      return;
    }
    into.append(someBytes, 0, 1);
    into.append(bytes, at, skip(bytes, at));
  };
}

function computed(
  item: TypedExpression,
  isNullable: boolean,
  context: CompileContext,
): OutputWriter {
  const evaluate = compileExpression(item, context);
  const write = valueWriterOf(item.type, context.types);
  return (frame, into) => {
    const value = evaluate(frame);
    if (value === null) {
      assert(isNullable, 'a column that is not nullable has a value');
      into.append(noneBytes, 0, 1);
      return;
    }
    requireRowBytes(lengthOf(value));
    const writer = borrowWriter();
    if (isNullable) writer.u8(someTag);
    write(writer, value);
    into.append(writer.source, 0, writer.length);
    giveBackWriter(writer);
  };
}
