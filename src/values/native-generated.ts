/**
 * The native codecs as generated functions: one straight line of checks and stores per type, which
 * the engine compiles like handwritten code. The generated code gets everything it needs as
 * parameters, so it reads no global: inside the sandbox every global is a lookup through a proxy.
 */
import {
  type BinaryReader,
  claimRun,
  invalidBool,
  readI128,
  readI256,
  readU128,
  readU256,
  tooDeep,
  unknownTag,
} from './binary-reader.ts';
import { type BinaryWriter, writeWide } from './binary-writer.ts';
import { writeFloat32, writeFloat64 } from './float-bits.ts';
import {
  asTypeError,
  bytesOf,
  checkEmptyElements,
  fail,
  failDepth,
  failTag,
  inside,
  isFloats,
} from './native-check.ts';
import { nativeClasses } from './native-classes.ts';
import { decoderSource } from './native-decoder-source.ts';
import { encoderSource } from './native-encoder-source.ts';
import type { AlgebraicType, Typespace } from './type.ts';

/** `undefined` where code generation is forbidden. */
export function generatedEncoderOf(
  type: AlgebraicType,
  typespace: Typespace,
  name: string,
): ((writer: BinaryWriter, value: unknown) => void) | undefined {
  const make = evaluate(encoderSource(type, typespace));
  return make?.(helpers, name) as ReturnType<typeof generatedEncoderOf>;
}

/** `undefined` where code generation is forbidden. */
export function generatedDecoderOf(
  type: AlgebraicType,
  typespace: Typespace,
): ((reader: BinaryReader) => unknown) | undefined {
  const make = evaluate(decoderSource(type, typespace));
  return make?.(helpers, '') as ReturnType<typeof generatedDecoderOf>;
}

type Factory = (given: typeof helpers, name: string) => unknown;

function evaluate(source: string): Factory | undefined {
  try {
    // The only user data in the source are element names, quoted by `JSON.stringify`.
    return new Function('h', 'name', source) as Factory;
  } catch {
    return undefined;
  }
}

/** Everything that generated code refers to, as `h.x`; the sources bind what they use up front. */
const helpers = {
  ...nativeClasses,
  asTypeError,
  bytesOf,
  checkEmptyElements,
  claimRun,
  fail,
  failDepth,
  failTag,
  inside,
  invalidBool,
  isArray: Array.isArray,
  isFloats,
  readI128,
  readI256,
  readU128,
  readU256,
  tooDeep,
  unknownTag,
  writeFloat32,
  writeFloat64,
  writeWide,
};
