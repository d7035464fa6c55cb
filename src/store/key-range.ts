import { present } from '../assert.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { RowShape } from './row-shape.ts';

/**
 * A range scan as modules ask for it. `bytes` holds, one after another from offset 0: the encoded
 * values of the first `prefixColumns` columns of the index; the start bound; the end bound
 * (`endLength` 0: the same as the start). A bound is a tag byte (0 included, 1 excluded, 2
 * unbounded) and, unless unbounded, the encoded value of the next column. Further columns are not
 * restricted.
 */
export interface RangeRequest {
  readonly bytes: Uint8Array;
  readonly prefixColumns: number;
  readonly prefixLength: number;
  readonly startLength: number;
  readonly endLength: number;
}

/** A range request that was checked: every offset points to a valid value. */
export interface KeyRange {
  readonly bytes: Uint8Array;
  readonly prefixColumns: number;
  readonly start: Bound;
  readonly end: Bound;
}

export interface Bound {
  readonly kind: 'included' | 'excluded' | 'unbounded';
  /** Offset of the value in the range's bytes. */
  readonly at: number;
}

/** Checks a request against the columns of an index. Throws `DecodeError`. */
export function parseRange(
  request: RangeRequest,
  shape: RowShape,
  columns: readonly number[],
): KeyRange {
  const { bytes, prefixColumns, prefixLength, startLength, endLength } = request;
  const column = columns[prefixColumns];
  if (column === undefined) throw new DecodeError('the prefix leaves no column for the range');
  const prefixEnd = prefixLength;
  const startEnd = prefixEnd + startLength;
  if (startEnd + endLength > bytes.length) throw new DecodeError('the range is cut short');
  if (prefixColumns > 0) checkKey(bytes, prefixEnd, shape, columns.slice(0, prefixColumns));
  const start = parseBound(bytes, prefixEnd, startEnd, (at, end) =>
    shape.validate(bytes, at, end, column),
  );
  const end =
    endLength === 0
      ? start
      : parseBound(bytes, startEnd, startEnd + endLength, (at, stop) =>
          shape.validate(bytes, at, stop, column),
        );
  return { bytes, prefixColumns, start, end };
}

/** Checks that `bytes[0, end)` is exactly one value of each column. Throws `DecodeError`. */
export function checkKey(
  bytes: Uint8Array,
  end: number,
  shape: RowShape,
  columns: readonly number[],
): void {
  if (end > bytes.length) throw new DecodeError('the key is cut short');
  let at = 0;
  for (const column of columns) at = shape.validate(bytes, at, end, column);
  if (at !== end) throw new DecodeError('the key has bytes left over');
}

function parseBound(
  bytes: Uint8Array,
  at: number,
  end: number,
  validate: (at: number, end: number) => number,
): Bound {
  if (at >= end) throw new DecodeError('a bound of the range is missing');
  const kind = boundKinds[present(bytes[at], 'tag of a bound')];
  if (kind === undefined) throw new DecodeError(`unknown bound tag ${bytes[at]}`);
  const stop = kind === 'unbounded' ? at + 1 : validate(at + 1, end);
  if (stop !== end) throw new DecodeError('a bound of the range has bytes left over');
  return { kind, at: at + 1 };
}

const boundKinds = ['included', 'excluded', 'unbounded'] as const;
