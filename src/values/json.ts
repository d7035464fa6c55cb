/** SATS-JSON: the JSON forms of values, implemented in separate files. */

export { encodeArgumentsSteps } from './json-encode.ts';
export { JsonError } from './json-error.ts';
export { argumentsFromJson, argumentsFromQuotedJson, valueFromJson } from './json-read.ts';
export { isHeavy, parseJsonSteps } from './json-steps.ts';
export {
  JsonNumber,
  JsonObject,
  type JsonValue,
  member,
  parseJson,
} from './json-text.ts';
export { encodedToJson, type JsonShape, valueToJson } from './json-write.ts';
export { encodedToJsonSteps } from './json-write-steps.ts';
