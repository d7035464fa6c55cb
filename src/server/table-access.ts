import type { BinaryReader } from '../values/binary-reader.ts';
import { nativeEncoderOf } from '../values/native.ts';
import type { AlgebraicType, ProductType, Typespace } from '../values/type.ts';
import type { Bridge, Encode } from './bridge.ts';
import type { RowIterator } from './row-iterator.ts';

export type Row = Record<string, unknown>;

/** State that the handles of one table share. Codecs are compiled at first use. */
export interface TableAccess {
  readonly bridge: Bridge;
  /** As the module spells it; in a submodule, prefixed with the namespace. */
  readonly name: string;
  readonly rowType: ProductType;
  readonly typespace: Typespace;
  readonly id: () => number;
  /** Encodes a row into the scratch and returns its length. */
  readonly encodeRow: (row: Row) => number;
  /** Why the host did not write the row. */
  readonly refusalOf: (row: Row, code: number) => Error;
  readonly decodeRow: (reader: BinaryReader) => Row;
  /** Writes the values that the host generated, now in the scratch, into `row`. */
  readonly takeGenerated: (row: Row, byteCount: number) => void;
  /** The rows of an open scan. */
  readonly rows: (iterator: number) => RowIterator<Row>;
}

/** Returns `result`; throws if it is an error. */
export function checked(bridge: Bridge, result: number): number {
  if (result < 0) throw bridge.error(result);
  return result;
}

/** An encoder that is compiled at first use: most programs do not use all of their tables. */
export function lazyEncoder(type: AlgebraicType, typespace: Typespace, name: string): Encode {
  let encode: Encode | undefined;
  return (writer, value) => {
    encode ??= nativeEncoderOf(type, typespace, name);
    encode(writer, value);
  };
}
