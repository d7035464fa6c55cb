import type { Fill, FilledValue } from '../schema/migration-route.ts';
import { fromBase64 } from '../values/base64.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { nativeDecoderOf } from '../values/native.ts';
import type { Typespace } from '../values/type.ts';
import type { Row } from './table-access.ts';

/** Makes a value of its own at each call: rows that are handed out must not share objects. */
export type ValueMaker = () => unknown;

export function makerOf({ type, bytes }: FilledValue, typespace: Typespace): ValueMaker {
  const decode = nativeDecoderOf(type, typespace);
  const encoded = fromBase64(bytes) ?? new Uint8Array(0);
  const value = decode(new BinaryReader(encoded));
  if (typeof value !== 'object') return () => value;
  return () => decode(new BinaryReader(encoded));
}

/** Values of columns that can be left out. */
export type Fills = readonly { readonly name: string; readonly make: ValueMaker }[];

export function fillsOf(fill: Fill, typespace: Typespace): Fills {
  return fill.map(({ name, value }) => ({ name, make: makerOf(value, typespace) }));
}

/** The row with the values of the columns that it leaves out; the row itself stays as it is. */
export function filledRow(row: Row, fills: Fills): Row {
  // What is no object is refused when it is encoded.
  if (typeof row !== 'object' || row === null) return row;
  let filled = row;
  for (const { name, make } of fills) {
    if (row[name] !== undefined) continue;
    if (filled === row) filled = { ...row };
    filled[name] = make();
  }
  return filled;
}
