/** SATS-JSON: the JSON forms of values, implemented in separate files. */

export { encodeArgumentsSteps } from './json-encode.ts';
export { JsonError } from './json-error.ts';
export { argumentsFromLooseJson, type FilledTypespace } from './json-loose.ts';
export { argumentsFromJson, UnfitJsonError, valueFromJson } from './json-read.ts';
export { isHeavy, parseJsonSteps } from './json-steps.ts';
export {
  JsonNumber,
  JsonObject,
  type JsonValue,
  member,
  parseJson,
} from './json-text.ts';
export {
  encodedToJson,
  encodedToShortJson,
  type JsonShape,
  JsonTooLongError,
  jsonCharactersMax,
  valueToJson,
} from './json-write.ts';
export { encodedToJsonPieces, encodedToJsonSteps } from './json-write-steps.ts';
