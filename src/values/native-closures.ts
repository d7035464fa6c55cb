/**
 * The native codecs as closures, for realms that forbid code generation and for web pages, where
 * code size matters more. They behave like those of `native-generated.ts` and are several times
 * slower.
 */
import { nestingDepthMax } from '../shared-limits.ts';
import { type BinaryReader, tooDeep, unknownTag } from './binary-reader.ts';
import type { BinaryWriter } from './binary-writer.ts';
import { type IntegerKind, integerRange, isIntegerKind, isWideInteger } from './integer-range.ts';
import {
  asTypeError,
  bytesOf,
  checkEmptyElements,
  type Demand,
  fail,
  failDepth,
  failTag,
  inside,
  nativeName,
  stepText,
} from './native-check.ts';
import { nativeClasses } from './native-classes.ts';
import { perType } from './per-type.ts';
import { specialElements, specialKindOf, specialProductKindOf } from './special-types.ts';
import type { AlgebraicType, ProductType, ScalarKind, SumType, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

/** `depth` counts the levels around the value. */
interface Codec {
  readonly write: (writer: BinaryWriter, value: unknown, depth: number) => void;
  readonly read: (reader: BinaryReader, depth: number) => unknown;
}

export function closureEncoderOf(
  type: AlgebraicType,
  typespace: Typespace | undefined,
  name: string,
): (writer: BinaryWriter, value: unknown) => void {
  const { write } = codecOf(type, typespace);
  return (writer, value) => {
    try {
      write(writer, value, 0);
    } catch (error) {
      throw asTypeError(error, name);
    }
  };
}

export function closureDecoderOf(
  type: AlgebraicType,
  typespace?: Typespace,
): (reader: BinaryReader) => unknown {
  const { read } = codecOf(type, typespace);
  return (reader) => {
    reader.beginValue();
    return read(reader, 0);
  };
}

const codecOf: (type: AlgebraicType, typespace?: Typespace) => Codec = /* @__PURE__ */ perType(
  (type, typespace) => {
    switch (type.kind) {
      case 'ref': {
        // A type can contain itself, so the target is compiled when a value is met.
        let codec: Codec | undefined;
        const target = () => {
          codec ??= codecOf(resolveType(type, typespace), typespace);
          return codec;
        };
        return {
          write: (writer, value, depth) => target().write(writer, value, depth),
          read: (reader, depth) => target().read(reader, depth),
        };
      }
      case 'product':
        return productCodec(type, typespace);
      case 'sum':
        return sumCodec(type, typespace);
      case 'array':
        return arrayCodec(type.element, typespace);
      default:
        return scalarCodec(type.kind);
    }
  },
);

function productCodec(type: ProductType, typespace: Typespace): Codec {
  const special = specialProductKindOf(type);
  if (special !== undefined) {
    const { name, kind } = specialElements[special];
    const NativeClass = nativeClasses[special];
    const write = integerWriter(kind, special);
    return {
      write: (writer, value) => write(writer, propertyOf(value, name), value),
      read: (reader) => new NativeClass(reader[kind]()),
    };
  }
  if (type.elements.length === 0) return { write: () => {}, read: () => ({}) };
  const fields = type.elements.map((element, index) => ({
    name: nativeName(element, index),
    step: stepText(element, index),
    codec: codecOf(element.type, typespace),
  }));
  // Assigning `__proto__` would set the prototype.
  const isPlain = fields.every(({ name }) => name !== '__proto__');
  return {
    write: (writer, value, depth) => {
      if (depth >= nestingDepthMax) failDepth('');
      if (typeof value !== 'object' || value === null) fail('', 'product', value);
      let at = '';
      try {
        for (const { name, step, codec } of fields) {
          at = step;
          codec.write(writer, propertyOf(value, name), depth + 1);
        }
      } catch (error) {
        throw inside(error, at);
      }
    },
    read: (reader, depth) => {
      if (depth >= nestingDepthMax) throw tooDeep();
      if (!isPlain) {
        const read = fields.map(({ name, codec }) => [name, codec.read(reader, depth + 1)]);
        return Object.fromEntries(read);
      }
      const value: Record<string, unknown> = {};
      for (const { name, codec } of fields) value[name] = codec.read(reader, depth + 1);
      return value;
    },
  };
}

function sumCodec(type: SumType, typespace: Typespace): Codec {
  const codecs = type.variants.map((variant) => codecOf(variant.type, typespace));
  const { split, join } = variantFormOf(type);
  return {
    write: (writer, value, depth) => {
      if (depth >= nestingDepthMax) failDepth('');
      const [tag, payload, step] = split(value);
      writer.u8(tag);
      try {
        codecs[tag]?.write(writer, payload, depth + 1);
      } catch (error) {
        throw inside(error, step);
      }
    },
    read: (reader, depth) => {
      if (depth >= nestingDepthMax) throw tooDeep();
      const tag = reader.u8();
      const codec = codecs[tag];
      if (codec === undefined) throw unknownTag(tag);
      return join(tag, codec.read(reader, depth + 1));
    },
  };
}

/** The JavaScript form of the variants of a sum. */
interface VariantForm {
  /** The tag of a value, its payload and the path to the payload. */
  readonly split: (value: unknown) => readonly [tag: number, payload: unknown, step: string];
  readonly join: (tag: number, payload: unknown) => unknown;
}

function variantFormOf(type: SumType): VariantForm {
  switch (specialKindOf(type)) {
    case 'option':
      return {
        split: (value) => [value === undefined || value === null ? 1 : 0, value, ''],
        join: (tag, payload) => (tag === 0 ? payload : undefined),
      };
    case 'result':
      return {
        split: (value) => {
          if (typeof value !== 'object' || value === null) fail('', 'result', value);
          if ('ok' in value) return [0, value.ok, '.ok'];
          if ('err' in value) return [1, value.err, '.err'];
          return fail('', 'result', value);
        },
        join: (tag, payload) => (tag === 0 ? { ok: payload } : { err: payload }),
      };
    default: {
      const names = type.variants.map(nativeName);
      return {
        split: (value) => {
          if (typeof value !== 'object' || value === null) fail('', 'sum', value);
          const name = propertyOf(value, 'tag');
          const tag = names.indexOf(name as string);
          if (tag < 0) failTag('', names, name);
          return [tag, propertyOf(value, 'value'), '.value'];
        },
        join: (tag, value) => ({ tag: names[tag], value }),
      };
    }
  }
}

function arrayCodec(element: AlgebraicType, typespace: Typespace): Codec {
  if (element.kind === 'u8') {
    return {
      write: (writer, value) => writer.bytes(bytesOf(value) ?? fail('', 'bytes', value)),
      read: (reader) => reader.bytes(),
    };
  }
  const codec = codecOf(element, typespace);
  const isEmpty = hasNoBytes(element, typespace);
  return {
    write: (writer, value, depth) => {
      if (depth >= nestingDepthMax) failDepth('');
      if (!Array.isArray(value)) fail('', 'array', value);
      const count = value.length;
      if (isEmpty) checkEmptyElements('', count);
      writer.u32(count);
      let index = 0;
      try {
        for (; index < count; index += 1) codec.write(writer, value[index], depth + 1);
      } catch (error) {
        throw inside(error, `[${index}]`);
      }
    },
    read: (reader, depth) => {
      if (depth >= nestingDepthMax) throw tooDeep();
      const values: unknown[] = [];
      for (let left = reader.count(isEmpty); left > 0; left -= 1) {
        values.push(codec.read(reader, depth + 1));
      }
      return values;
    },
  };
}

/** Whether values of `type` take no bytes. A type with endless recursion is invalid. */
function hasNoBytes(type: AlgebraicType, typespace: Typespace): boolean {
  const target = resolveType(type, typespace);
  return (
    target.kind === 'product' && target.elements.every((item) => hasNoBytes(item.type, typespace))
  );
}

function scalarCodec(kind: ScalarKind): Codec {
  const read = (reader: BinaryReader) => reader[kind]();
  if (isIntegerKind(kind)) {
    const write = integerWriter(kind, kind);
    return { write: (writer, value) => write(writer, value, value), read };
  }
  const typeName = kind === 'string' ? kind : kind === 'bool' ? 'boolean' : 'number';
  return {
    write: (writer, value) => {
      if (typeof value !== typeName) fail('', kind, value);
      writer[kind](value as never);
    },
    read,
  };
}

/** Writes an integer, or reports that `whole`, which holds it, does not meet `demand`. */
function integerWriter(kind: IntegerKind, demand: Demand) {
  const { min, max } = integerRange[kind];
  const isWide = isWideInteger(kind);
  return (writer: BinaryWriter, value: unknown, whole: unknown): void => {
    const isInteger = isWide
      ? typeof value === 'bigint'
      : typeof value === 'number' && value % 1 === 0;
    const given = value as bigint;
    if (!isInteger || given < min || given > max) fail('', demand, whole);
    writer[kind](value as never);
  };
}

function propertyOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
