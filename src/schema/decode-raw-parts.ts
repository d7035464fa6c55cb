import { type BinaryReader, DecodeError } from '../values/binary-reader.ts';
import type { NamedType, ProductType } from '../values/type.ts';
import { decodeType } from '../values/type-codec.ts';
import type { DerivedIndexOption, Lifecycle } from './definition.ts';
import type {
  FunctionVisibility,
  RawConstraint,
  RawIndex,
  RawSequence,
  RawTypeDefinition,
  RawView,
} from './raw-module.ts';

/**
 * The records common to versions 9 and 10, and the frames they are made of. Counts are never
 * trusted: a list grows as its items arrive, and every item takes at least one byte.
 */

export function readList<Item>(r: BinaryReader, read: (r: BinaryReader) => Item): Item[] {
  const count = r.u32();
  const items: Item[] = [];
  for (let index = 0; index < count; index += 1) items.push(read(r));
  return items;
}

export function readOption<Item>(
  r: BinaryReader,
  read: (r: BinaryReader) => Item,
): Item | undefined {
  return readTag(r, ['some', 'none'], 'option') === 'some' ? read(r) : undefined;
}

/** Reads a tag byte and returns its variant, given in tag order. `name` is the sum's. */
export function readTag<Variant>(
  r: BinaryReader,
  variants: readonly (Variant | undefined)[],
  name: string,
): Variant {
  const tag = r.u8();
  const variant = variants[tag];
  if (variant === undefined) {
    throw new DecodeError(`unknown tag 0x${tag.toString(16)} for sum type ${name}`);
  }
  return variant;
}

export function readString(r: BinaryReader): string {
  return r.string();
}

/** An option of a derived index, which a catalog has, too. */
export function readIndexOption(r: BinaryReader): DerivedIndexOption {
  return { name: r.string(), value: r.string() };
}

/** A product without the tag that says "product". */
export function readProduct(r: BinaryReader): ProductType {
  return { kind: 'product', elements: readList(r, readElement) };
}

function readElement(r: BinaryReader): NamedType {
  return { name: readOption(r, readString), type: decodeType(r) };
}

export function readColumns(r: BinaryReader): number[] {
  return readList(r, (reader) => reader.u16());
}

export function readIndex(r: BinaryReader): RawIndex {
  const sourceName = readOption(r, readString);
  const accessorName = readOption(r, readString);
  const algorithm = readTag(r, ['btree', 'hash', 'direct'] as const, 'RawIndexAlgorithm');
  const columns = algorithm === 'direct' ? [r.u16()] : readColumns(r);
  return { sourceName, accessorName, algorithm, columns };
}

export function readConstraint(r: BinaryReader): RawConstraint {
  const sourceName = readOption(r, readString);
  readTag(r, ['unique'], 'RawConstraintData');
  return { sourceName, columns: readColumns(r) };
}

export function readSequence(r: BinaryReader): RawSequence {
  return {
    sourceName: readOption(r, readString),
    column: r.u16(),
    start: readOption(r, readI128),
    minValue: readOption(r, readI128),
    maxValue: readOption(r, readI128),
    increment: r.i128(),
  };
}

export function readTypeDefinition(r: BinaryReader): RawTypeDefinition {
  return {
    scope: readList(r, readString),
    sourceName: r.string(),
    ref: r.u32(),
    customOrdering: r.bool(),
  };
}

export function readView(r: BinaryReader): RawView {
  return {
    sourceName: r.string(),
    index: r.u32(),
    isPublic: r.bool(),
    isAnonymous: r.bool(),
    params: readProduct(r),
    returnType: decodeType(r),
  };
}

export function readTableType(r: BinaryReader): 'system' | 'user' {
  return readTag(r, ['system', 'user'] as const, 'TableType');
}

export function readAccess(r: BinaryReader): 'public' | 'private' {
  return readTag(r, ['public', 'private'] as const, 'TableAccess');
}

export function readVisibility(r: BinaryReader): FunctionVisibility {
  return readTag(r, ['private', 'clientCallable'] as const, 'FunctionVisibility');
}

export function readLifecycle(r: BinaryReader): Lifecycle {
  return readTag(r, ['init', 'onConnect', 'onDisconnect'] as const, 'Lifecycle');
}

function readI128(r: BinaryReader): bigint {
  return r.i128();
}
