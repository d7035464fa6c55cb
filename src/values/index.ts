/**
 * The published entry `reducerdb/values`: types, values and their encodings.
 *
 * @module
 */
export { BinaryReader, DecodeError } from './binary-reader.ts';
export { BinaryWriter } from './binary-writer.ts';
export { type Comparator, comparatorOf } from './compare.ts';
export { ConnectionId } from './connection-id.ts';
export { decodeValue } from './decode.ts';
export { encodeValue } from './encode.ts';
export { Identity } from './identity.ts';
export {
  JsonError,
  JsonNumber,
  JsonObject,
  type JsonShape,
  type JsonValue,
  parseJson,
  valueFromJson,
  valueToJson,
} from './json.ts';
export {
  type NativeDecoder,
  type NativeEncoder,
  nativeDecoderOf,
  nativeEncoderOf,
} from './native.ts';
export { Interval, ScheduleAt, Time } from './schedule-at.ts';
export {
  bytesType,
  connectionIdType,
  identityType,
  neverType,
  optionType,
  product,
  resultType,
  type SpecialKind,
  scheduleAtType,
  specialKindOf,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from './special-types.ts';
export { type TextStyle, valueToText } from './text.ts';
export { TimeDuration } from './time-duration.ts';
export { Timestamp } from './timestamp.ts';
export {
  type AlgebraicType,
  type ArrayType,
  emptyTypespace,
  type NamedType,
  type ProductType,
  type ScalarKind,
  type SumType,
  type Typespace,
} from './type.ts';
export { typeFromJson, typeToJson } from './type-codec.ts';
export { InvalidTypeError, resolveType, typeText } from './typespace.ts';
export { Uuid, type UuidVersion } from './uuid.ts';
export type { SumValue, Value } from './value.ts';
