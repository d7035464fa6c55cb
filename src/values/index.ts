/** The published entry `reducerdb/values`: types, values and their encodings. */
export { BinaryReader, DecodeError } from './binary-reader.ts';
export { BinaryWriter } from './binary-writer.ts';
export { comparatorOf } from './compare.ts';
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
export { nativeDecoderOf, nativeEncoderOf } from './native.ts';
export { ScheduleAt } from './schedule-at.ts';
export {
  bytesType,
  connectionIdType,
  identityType,
  neverType,
  optionType,
  product,
  resultType,
  scheduleAtType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from './special-types.ts';
export { valueToText } from './text.ts';
export { TimeDuration } from './time-duration.ts';
export { Timestamp } from './timestamp.ts';
export type {
  AlgebraicType,
  ArrayType,
  NamedType,
  ProductType,
  ScalarKind,
  SumType,
  Typespace,
} from './type.ts';
export { typeFromJson, typeToJson } from './type-codec.ts';
export { typeText } from './typespace.ts';
export { Uuid, type UuidVersion } from './uuid.ts';
export type { SumValue, Value } from './value.ts';
