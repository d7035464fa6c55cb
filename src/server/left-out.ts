import { columnOf } from '../declare/builder.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { nativeDecoderOf, nativeEncoderOf } from '../values/native.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import type { PlannedTable } from './describe.ts';
import { zeroOf } from './param-defaults.ts';
import type { Row } from './table-access.ts';

/**
 * Gives a row that is inserted the values of the columns that were left out: the default, or zero,
 * which requests the next number of a sequence. The row itself stays as it is. An option that was
 * left out is none, whatever its default.
 */
export function fillerOf(planned: PlannedTable, typespace: Typespace): (row: Row) => Row {
  const fillers = Object.values(planned.table.columns).flatMap((builder, position) => {
    const element = planned.rowType.elements[position];
    const { traits } = columnOf(builder);
    if (element?.name === undefined) return [];
    const { name, type } = element;
    if (traits.autoInc) return [{ name, value: () => zeroOf(type) }];
    if (traits.default === undefined || specialKindOf(type) === 'option') return [];
    return [{ name, value: valueMaker(type, typespace, traits.default.value) }];
  });
  return (row) => {
    let filled = row;
    // What is no object is refused when it is encoded.
    if (typeof row !== 'object' || row === null) return row;
    for (const { name, value } of fillers) {
      if (row[name] !== undefined) continue;
      if (filled === row) filled = { ...row };
      filled[name] = value();
    }
    return filled;
  };
}

/** A new value at each call: rows that are handed out must not share objects. */
function valueMaker(type: AlgebraicType, typespace: Typespace, value: unknown): () => unknown {
  if (typeof value !== 'object') return () => value;
  let bytes: Uint8Array | undefined;
  return () => {
    if (bytes === undefined) {
      const writer = new BinaryWriter();
      nativeEncoderOf(type, typespace)(writer, value);
      bytes = writer.finish();
    }
    return nativeDecoderOf(type, typespace)(new BinaryReader(bytes));
  };
}
