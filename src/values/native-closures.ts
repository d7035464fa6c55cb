/**
 * The native codecs as closures, for realms that forbid code generation. They behave like those of
 * `native-generated.ts` and are several times slower.
 */
import { nestingDepthMax } from '../shared-limits.ts';
import { type BinaryReader, tooDeep, unknownTag } from './binary-reader.ts';
import type { BinaryWriter } from './binary-writer.ts';
import { type IntegerKind, integerRange } from './integer-range.ts';
import { fixedSizeOf } from './layout.ts';
import {
  asTypeError,
  bytesOf,
  checkEmptyElements,
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
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

type Write = (writer: BinaryWriter, value: unknown, depth: number) => void;
type Read = (reader: BinaryReader, depth: number) => unknown;

export function closureEncoderOf(
  type: AlgebraicType,
  typespace: Typespace | undefined,
  name: string,
): (writer: BinaryWriter, value: unknown) => void {
  const write = writerOf(type, typespace);
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
  const read = readerOf(type, typespace);
  return (reader) => {
    reader.beginValue();
    return read(reader, 0);
  };
}

const writerOf: (type: AlgebraicType, typespace?: Typespace) => Write = perType(
  (type, typespace) => {
    switch (type.kind) {
      case 'ref': {
        let target: Write | undefined;
        return (writer, value, depth) => {
          target ??= writerOf(resolveType(type, typespace), typespace);
          target(writer, value, depth);
        };
      }
      case 'product':
        return productWriter(type, typespace);
      case 'sum':
        return sumWriter(type, typespace);
      case 'array':
        return arrayWriter(type.element, typespace);
      default:
        return scalarWriter(type.kind);
    }
  },
);

/** Runs `write`; a misfit inside learns that it happened at `step`. */
function within(step: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw inside(error, step);
  }
}

function productWriter(
  type: Extract<AlgebraicType, { kind: 'product' }>,
  typespace: Typespace,
): Write {
  const special = specialProductKindOf(type);
  if (special !== undefined) {
    const { name, kind } = specialElements[special];
    const { min, max } = integerRange[kind];
    return (writer, value) => {
      const inner = propertyOf(value, name);
      if (typeof inner !== 'bigint' || inner < min || inner > max) fail('', special, value);
      writer[kind](inner);
    };
  }
  if (type.elements.length === 0) return () => {};
  const fields = type.elements.map((element, index) => ({
    name: nativeName(element, index),
    step: stepText(element, index),
    write: writerOf(element.type, typespace),
  }));
  return (writer, value, depth) => {
    if (depth >= nestingDepthMax) failDepth('');
    if (typeof value !== 'object' || value === null) fail('', 'product', value);
    for (const { name, step, write } of fields) {
      within(step, () => write(writer, propertyOf(value, name), depth + 1));
    }
  };
}

function sumWriter(type: Extract<AlgebraicType, { kind: 'sum' }>, typespace: Typespace): Write {
  const writes = type.variants.map((variant) => writerOf(variant.type, typespace));
  const choose = variantChooser(type);
  return (writer, value, depth) => {
    if (depth >= nestingDepthMax) failDepth('');
    const { tag, payload, step } = choose(value);
    writer.u8(tag);
    const write = writes[tag];
    if (write !== undefined) within(step, () => write(writer, payload, depth + 1));
  };
}

/** Which variant a native value is of, its payload and the path to that. */
type VariantChooser = (value: unknown) => { tag: number; payload: unknown; step: string };

function variantChooser(type: Extract<AlgebraicType, { kind: 'sum' }>): VariantChooser {
  switch (specialKindOf(type)) {
    case 'option':
      return (value) =>
        value === undefined || value === null
          ? { tag: 1, payload: undefined, step: '' }
          : { tag: 0, payload: value, step: '' };
    case 'result':
      return (value) => {
        if (typeof value !== 'object' || value === null) fail('', 'result', value);
        if ('ok' in value) return { tag: 0, payload: value.ok, step: '.ok' };
        if ('err' in value) return { tag: 1, payload: value.err, step: '.err' };
        return fail('', 'result', value);
      };
    default: {
      const names = type.variants.map(nativeName);
      return (value) => {
        if (typeof value !== 'object' || value === null) fail('', 'sum', value);
        const tag = names.indexOf(propertyOf(value, 'tag') as string);
        if (tag < 0) failTag('', names, propertyOf(value, 'tag'));
        return { tag, payload: propertyOf(value, 'value'), step: '.value' };
      };
    }
  }
}

function arrayWriter(element: AlgebraicType, typespace: Typespace): Write {
  if (element.kind === 'u8') {
    return (writer, value) => {
      const bytes = bytesOf(value);
      if (bytes === undefined) fail('', 'bytes', value);
      writer.bytes(bytes);
    };
  }
  const write = writerOf(element, typespace);
  const isEmpty = fixedSizeOf(element, typespace) === 0;
  return (writer, value, depth) => {
    if (depth >= nestingDepthMax) failDepth('');
    if (!Array.isArray(value)) fail('', 'array', value);
    const count = value.length;
    if (isEmpty) checkEmptyElements('', count);
    writer.u32(count);
    for (let index = 0; index < count; index += 1) {
      within(`[${index}]`, () => write(writer, value[index], depth + 1));
    }
  };
}

function scalarWriter(kind: ScalarKind): Write {
  switch (kind) {
    case 'string':
      return (writer, value) => {
        if (typeof value !== 'string') fail('', kind, value);
        writer.string(value);
      };
    case 'bool':
      return (writer, value) => {
        if (typeof value !== 'boolean') fail('', kind, value);
        writer.bool(value);
      };
    case 'f32':
    case 'f64':
      return (writer, value) => {
        if (typeof value !== 'number') fail('', kind, value);
        writer[kind](value);
      };
    case 'i8':
    case 'u8':
    case 'i16':
    case 'u16':
    case 'i32':
    case 'u32':
      return (writer, value) => writer[kind](checkedNumber(kind, value));
    default:
      return (writer, value) => writer[kind](checkedBigint(kind, value));
  }
}

function checkedNumber(kind: IntegerKind, value: unknown): number {
  const { min, max } = integerRange[kind];
  if (typeof value !== 'number' || value % 1 !== 0 || value < min || value > max) {
    return fail('', kind, value);
  }
  return value;
}

function checkedBigint(kind: IntegerKind, value: unknown): bigint {
  const { min, max } = integerRange[kind];
  if (typeof value !== 'bigint' || value < min || value > max) return fail('', kind, value);
  return value;
}

function propertyOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

const readerOf: (type: AlgebraicType, typespace?: Typespace) => Read = perType(
  (type, typespace) => {
    switch (type.kind) {
      case 'ref': {
        let target: Read | undefined;
        return (reader, depth) => {
          target ??= readerOf(resolveType(type, typespace), typespace);
          return target(reader, depth);
        };
      }
      case 'product':
        return productReader(type, typespace);
      case 'sum':
        return sumReader(type, typespace);
      case 'array':
        return arrayReader(type.element, typespace);
      default: {
        const { kind } = type;
        return (reader) => reader[kind]();
      }
    }
  },
);

function productReader(
  type: Extract<AlgebraicType, { kind: 'product' }>,
  typespace: Typespace,
): Read {
  const special = specialProductKindOf(type);
  if (special !== undefined) {
    const NativeClass = nativeClasses[special];
    const { kind } = specialElements[special];
    return (reader) => new NativeClass(reader[kind]());
  }
  if (type.elements.length === 0) return () => ({});
  const fields = type.elements.map((element, index) => ({
    name: nativeName(element, index),
    read: readerOf(element.type, typespace),
  }));
  // Setting this one property is not what it looks like.
  const isPlain = fields.every(({ name }) => name !== '__proto__');
  return (reader, depth) => {
    if (depth >= nestingDepthMax) throw tooDeep();
    if (!isPlain) {
      return Object.fromEntries(fields.map(({ name, read }) => [name, read(reader, depth + 1)]));
    }
    const value: Record<string, unknown> = {};
    for (const { name, read } of fields) value[name] = read(reader, depth + 1);
    return value;
  };
}

function sumReader(type: Extract<AlgebraicType, { kind: 'sum' }>, typespace: Typespace): Read {
  const reads = type.variants.map((variant) => readerOf(variant.type, typespace));
  const build = variantBuilder(type.variants, specialKindOf(type));
  return (reader, depth) => {
    if (depth >= nestingDepthMax) throw tooDeep();
    const tag = reader.u8();
    const read = reads[tag];
    if (read === undefined) throw unknownTag(tag);
    return build(tag, read(reader, depth + 1));
  };
}

function variantBuilder(
  variants: readonly NamedType[],
  special: ReturnType<typeof specialKindOf>,
): (tag: number, payload: unknown) => unknown {
  switch (special) {
    case 'option':
      return (tag, payload) => (tag === 0 ? payload : undefined);
    case 'result':
      return (tag, payload) => (tag === 0 ? { ok: payload } : { err: payload });
    default: {
      const names = variants.map(nativeName);
      return (tag, value) => ({ tag: names[tag], value });
    }
  }
}

function arrayReader(element: AlgebraicType, typespace: Typespace): Read {
  if (element.kind === 'u8') return (reader) => reader.bytes();
  const read = readerOf(element, typespace);
  const isEmpty = fixedSizeOf(element, typespace) === 0;
  return (reader, depth) => {
    if (depth >= nestingDepthMax) throw tooDeep();
    const values: unknown[] = [];
    for (let left = reader.count(isEmpty); left > 0; left -= 1) {
      values.push(read(reader, depth + 1));
    }
    return values;
  };
}
