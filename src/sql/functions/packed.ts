import { assert } from '../../assert.ts';
import { skipperOf } from '../../values/layout.ts';
import { optionType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { borrowWriter, giveBackWriter } from './borrowed-writer.ts';
import type { QueryValue } from './function.ts';
import { noneTag, someTag } from './option-bytes.ts';
import { valueReaderOf, valueWriterOf } from './value-codec.ts';
import type { ValueType } from './value-type.ts';

/**
 * Several values as one, for aggregates that look at more than one of each row: the encoding of a
 * product in which what can be null is an Option. Types have no refs.
 */
export function packedType(parts: readonly ValueType[]): AlgebraicType {
  const elements = parts.map(({ type, isNullable }, at) => {
    return { name: String(at), type: isNullable ? optionType(type) : type };
  });
  return { kind: 'product', elements };
}

export function packerOf(
  parts: readonly ValueType[],
): (values: readonly QueryValue[]) => Uint8Array {
  const writers = parts.map(({ type }) => valueWriterOf(type));
  return (values) => {
    const writer = borrowWriter();
    for (const [at, write] of writers.entries()) {
      const value = values[at] ?? null;
      const isNullable = parts[at]?.isNullable === true;
      assert(isNullable || value !== null, 'only a nullable part is null');
      if (isNullable) writer.u8(value === null ? noneTag : someTag);
      if (value !== null) write(writer, value);
    }
    const bytes = writer.finish();
    giveBackWriter(writer);
    return bytes;
  };
}

export function unpackerOf(parts: readonly ValueType[]): (bytes: Uint8Array) => QueryValue[] {
  const readers = parts.map(({ type }) => valueReaderOf(type));
  const skippers = parts.map(({ type }) => skipperOf(type));
  return (bytes) => {
    let at = 0;
    return parts.map(({ isNullable }, part) => {
      if (isNullable && bytes[at++] === noneTag) return null;
      const value = readers[part]?.(bytes, at) ?? null;
      at = skippers[part]?.(bytes, at) ?? at;
      return value;
    });
  };
}
