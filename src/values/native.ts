/**
 * The JavaScript form of values, as users of the SDKs see them:
 *
 * | type | JavaScript |
 * |---|---|
 * | bool, string | boolean, string |
 * | i8 … u32, f32, f64 | number |
 * | i64 … u256 | bigint |
 * | array of u8; other arrays | `Uint8Array` (a list of numbers is accepted too); array |
 * | product | object by element name (a nameless one uses its position); unit is `{}` |
 * | option of T | T, or `undefined` for none (`null` is accepted too) |
 * | result of T, E | `{ ok: T }` or `{ err: E }` |
 * | other sums, also ScheduleAt | `{ tag: 'Name', value }`; a unit variant needs no `value` |
 * | identity, connectionId, timestamp, timeDuration, uuid | the class of that name |
 *
 * An option of an option cannot express `some(none)`: `undefined` is written as the outer none, and
 * a `some(none)` that is read becomes `undefined`.
 *
 * Writing checks every value: an invalid one throws `TypeError` with the path to it, such as
 * `hero.level: 300 is out of range for u8`. The writer can then hold a part of the value, which
 * must not be used. Reading throws `DecodeError`.
 */
import type { BinaryReader } from './binary-reader.ts';
import type { BinaryWriter } from './binary-writer.ts';
import { closureDecoderOf, closureEncoderOf } from './native-closures.ts';
import { generatedDecoderOf, generatedEncoderOf } from './native-generated.ts';
import { perType } from './per-type.ts';
import { type AlgebraicType, emptyTypespace, type Typespace } from './type.ts';

/**
 * Writes a native value; throws `TypeError` if it is not of the type.
 *
 * @example
 * ```ts
 * const encode: NativeEncoder = nativeEncoderOf({ kind: 'bool' });
 * encode(new BinaryWriter(), 1); // throws 'value: expected a boolean, got the number 1'
 * ```
 */
export type NativeEncoder = (writer: BinaryWriter, value: unknown) => void;
/**
 * Reads a native value; throws `DecodeError`.
 *
 * @example
 * ```ts
 * const decode: NativeDecoder = nativeDecoderOf({ kind: 'u8' });
 * decode(new BinaryReader(Uint8Array.of(7))); // 7
 * ```
 */
export type NativeDecoder = (reader: BinaryReader) => unknown;

/**
 * The encoder of native values of `type`, generated once per type object and name. `name` begins
 * the paths in its errors: the table or reducer, for instance.
 *
 * @example
 * ```ts
 * const encode = nativeEncoderOf(product(['level', { kind: 'u8' }]), undefined, 'hero');
 * const writer = new BinaryWriter();
 * encode(writer, { level: 7 });
 * writer.finish(); // Uint8Array.of(7)
 * encode(writer, { level: 300 }); // throws 'hero.level: 300 is out of range for u8'
 * ```
 */
export function nativeEncoderOf(
  type: AlgebraicType,
  typespace?: Typespace,
  name = 'value',
): NativeEncoder {
  const byName = encodersByName(type, typespace);
  let encoder = byName.get(name);
  if (encoder === undefined) {
    encoder =
      generatedEncoderOf(type, typespace ?? emptyTypespace, name) ??
      closureEncoderOf(type, typespace, name);
    byName.set(name, encoder);
  }
  return encoder;
}

/**
 * The decoder to native values of `type`, generated once per type object.
 *
 * @example
 * ```ts
 * const decode = nativeDecoderOf(product(['level', { kind: 'u8' }]));
 * decode(new BinaryReader(Uint8Array.of(7))); // { level: 7 }
 * ```
 */
export const nativeDecoderOf: (type: AlgebraicType, typespace?: Typespace) => NativeDecoder =
  perType(
    (type, typespace) => generatedDecoderOf(type, typespace) ?? closureDecoderOf(type, typespace),
  );

const encodersByName = perType(() => new Map<string, NativeEncoder>());
