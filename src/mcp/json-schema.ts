import { limits } from '../limits.ts';
import type { JsonSchema } from '../mcp-protocol/tool.ts';
import type { ReducerDefinition } from '../schema/definition.ts';
import { areNamed, type SchemaTypes, type WordedTypes } from '../schema/type-words.ts';
import { type IntegerKind, integerRange } from '../values/integer-range.ts';
import { type SpecialKind, specialKindOf } from '../values/special-types.ts';
import type {
  AlgebraicType,
  NamedType,
  ProductType,
  ScalarKind,
  SumType,
  Typespace,
} from '../values/type.ts';
import { resolveType, typeText } from '../values/typespace.ts';

/**
 * Returns the JSON schema (2020-12) of a reducer's arguments: by parameter name, and inside in both
 * shapes at any depth. `argumentsFromLooseJson` reads everything that fits it, except numbers that
 * only look like the type's own: out of range in quotes, or written `1.0`. It omits forms that
 * should not be written: quoted variant numbers, and unquoted integers beyond 2^53; and those that
 * would make it longer, such as the bare value of an option.
 *
 * An option may be omitted, a parameter with a default, and columns of rows that are filled in.
 * Parameters without names come as the array `args`. `docs` describes parameters. A type too large
 * for an agent to read is only described in words.
 */
export function argumentsSchema(
  declared: DeclaredParams,
  types: WordedTypes,
  docs: ReadonlyMap<string, string>,
): JsonSchema {
  const schemas = new TypeSchemas(types);
  const exact = objectSchemaOf(declared, { types, docs, schemaOf: (type) => schemas.of(type) });
  const schema = { ...exact, ...schemas.definitions() };
  const { reducerSchemaCharactersMax: most } = limits;
  if (schemas.isWhole && JSON.stringify(schema).length <= most) return schema;
  const schemaOf = (type: AlgebraicType) => ({
    description: shortTypeText(type, types.typespace),
  });
  return objectSchemaOf(declared, { types, docs, schemaOf });
}

type DeclaredParams = Pick<ReducerDefinition, 'params' | 'paramDefaults'>;

interface ArgumentsParts {
  readonly types: SchemaTypes;
  readonly docs: ReadonlyMap<string, string>;
  schemaOf(type: AlgebraicType): JsonSchema;
}

function objectSchemaOf(
  { params, paramDefaults = [] }: DeclaredParams,
  { types, docs, schemaOf }: ArgumentsParts,
): JsonSchema {
  const { elements } = params;
  if (!areNamed(elements)) {
    return { type: 'object', properties: { args: schemaOf(params) }, required: ['args'] };
  }
  const properties = elements.map(({ name, type }) => {
    const description = docs.get(name);
    const schema = schemaOf(type);
    return [name, description ? { ...schema, description } : schema] as const;
  });
  const required = elements.flatMap((element, at) => {
    return isOption(element, types) || paramDefaults[at] !== undefined ? [] : [element.name];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** Whether `null` is a value of a parameter. */
export function isOption({ type }: NamedType, { typespace }: SchemaTypes): boolean {
  return specialKindOf(resolveType(type, typespace)) === 'option';
}

/** Truncates a long description. */
export function shortText(text: string): string {
  return text.length <= shortTextLengthMax ? text : `${text.slice(0, shortTextLengthMax)}…`;
}

/** Formats a type for people; a large one is never written out in full. */
export function shortTypeText(type: AlgebraicType, typespace: Typespace): string {
  return shortText(typeText(type, typespace, shortTextLengthMax));
}

const shortTextLengthMax = 500;

/**
 * Schemas of types. A product and a sum refer to their inner types twice, by name and by position,
 * so named and nested types are placed in `$defs`; otherwise a schema would grow exponentially with
 * nesting. Our own names contain characters that no name of a module has.
 */
class TypeSchemas {
  readonly #types: SchemaTypes;
  readonly #names: ReadonlyMap<number, string>;
  readonly #definitions = new Map<string, JsonSchema>();
  readonly #parts = new Map<AlgebraicType, string>();
  readonly #leftOut = new Map<AlgebraicType, readonly (Uint8Array | undefined)[]>();
  #count = 0;

  constructor(types: WordedTypes) {
    this.#types = types;
    for (const [ref, filled] of types.leftOut ?? []) {
      const type = types.typespace.types[ref];
      if (type !== undefined) this.#leftOut.set(type, filled);
    }
    this.#names = new Map(types.types.map((one) => [one.ref, [...one.scope, one.name].join('.')]));
  }

  /** Whether no type was too large to write out. */
  get isWhole(): boolean {
    return this.#count <= limits.reducerSchemaTypesMax;
  }

  definitions(): JsonSchema {
    if (this.#definitions.size === 0) return {};
    return { $defs: Object.fromEntries(this.#definitions) };
  }

  of(type: AlgebraicType): JsonSchema {
    this.#count += 1;
    if (!this.isWhole) return {};
    switch (type.kind) {
      case 'ref':
        return this.#named(type.ref);
      case 'product':
        return { ...meaningOf(type), ...this.#product(type) };
      case 'sum':
        return specialKindOf(type) === 'option' ? this.#option(type) : this.#sum(type);
      case 'array':
        return type.element.kind === 'u8'
          ? bytesSchema
          : { type: 'array', items: this.#part(type.element) };
      case 'string':
        return { type: 'string' };
      case 'bool':
        return { type: 'boolean' };
      case 'f32':
      case 'f64':
        return { type: 'number' };
      default:
        return integerSchemas[type.kind];
    }
  }

  #named(ref: number): JsonSchema {
    const name = this.#names.get(ref) ?? `type-${ref}`;
    return this.#defined(name, () => resolveType({ kind: 'ref', ref }, this.#types.typespace));
  }

  /** Returns the schema of a type inside another. */
  #part(type: AlgebraicType): JsonSchema {
    if (isFlat(type)) return this.of(type);
    const name = this.#parts.get(type) ?? `part-${this.#parts.size + 1}`;
    this.#parts.set(type, name);
    return this.#defined(name, () => type);
  }

  #defined(name: string, typeOf: () => AlgebraicType): JsonSchema {
    if (!this.#definitions.has(name)) {
      // Reserved first, because the type may contain itself.
      this.#definitions.set(name, {});
      this.#definitions.set(name, this.of(typeOf()));
    }
    return { $ref: `#/$defs/${encodeURIComponent(name)}` };
  }

  /** Describes a product: by name if each element has one, and by position. */
  #product(type: ProductType): JsonSchema {
    const { elements } = type;
    if (elements.length === 0) return unitSchema;
    const schemas = elements.map(({ type }) => this.#part(type));
    const count = schemas.length;
    const byPosition = { prefixItems: schemas, ...anyItems, minItems: count, maxItems: count };
    if (!areNamed(elements)) return { type: 'array', ...byPosition };
    const filled = this.#leftOut.get(type);
    const required = elements.filter((_, at) => filled?.[at] === undefined);
    return {
      type: ['object', 'array'],
      properties: Object.fromEntries(elements.map(({ name }, at) => [name, schemas[at]])),
      ...(required.length === 0 ? {} : { required: required.map(({ name }) => name) }),
      additionalProperties: false,
      ...byPosition,
    };
  }

  #option(type: SumType): JsonSchema {
    const sum = this.#sum(type);
    return { ...sum, type: ['null', ...shapesOfSums] };
  }

  /** Describes a sum: `{"Name": payload}`, or `[tag, payload]` with the tag by name or number. */
  #sum({ variants }: SumType): JsonSchema {
    if (variants.length === 0) return { not: {} };
    const payloads = variants.map(({ type }) => this.#part(type));
    const keys = variants.map(({ name }, tag) => variantKey(name, tag));
    const pairs = pairSchemas(keys, payloads);
    return {
      type: shapesOfSums,
      properties: Object.fromEntries(keys.map((key, tag) => [key, payloads[tag]])),
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      ...(pairs.length === 1 ? pairs[0] : { anyOf: pairs }),
      ...anyItems,
      minItems: 2,
      maxItems: 2,
    };
  }
}

/** Whether a type nests at most one level deep. */
function isFlat(type: AlgebraicType): boolean {
  switch (type.kind) {
    case 'product':
      return type.elements.every((element) => isLeaf(element.type));
    case 'sum':
      return type.variants.every((variant) => isLeaf(variant.type));
    case 'array':
      return isLeaf(type.element);
    case 'ref':
      return true;
    default:
      type.kind satisfies ScalarKind;
      return true;
  }
}

function isLeaf(type: AlgebraicType): boolean {
  const isComposite = type.kind === 'product' || type.kind === 'sum' || type.kind === 'array';
  return !isComposite || !holdersOfOthers.has(specialKindOf(type));
}

/** The composite types that contain other values: those that are not special, and some that are. */
const holdersOfOthers: ReadonlySet<SpecialKind | undefined> = new Set([
  undefined,
  'option',
  'result',
  'scheduleAt',
] as const);

/** Has no effect, but some vendors' agents reject lists without it. */
const anyItems = { items: {} };

const unitSchema: JsonSchema = {
  type: ['object', 'array'],
  maxProperties: 0,
  ...anyItems,
  maxItems: 0,
};

const shapesOfSums = ['object', 'array'];

/** Returns a variant's key: its tag if the name would be read as a tag, a number up to 255. */
function variantKey(name: string | undefined, tag: number): string {
  return name === undefined || (/^\+?\d+$/.test(name) && Number(name) <= 255) ? String(tag) : name;
}

/** Returns one schema for each payload, with all of its tags. */
function pairSchemas(keys: readonly string[], payloads: readonly JsonSchema[]): JsonSchema[] {
  const pairs = new Map<string, { readonly tags: (string | number)[]; payload: JsonSchema }>();
  for (const [tag, payload] of payloads.entries()) {
    const text = JSON.stringify(payload);
    const pair = pairs.get(text) ?? { tags: [], payload };
    pair.tags.push(keys[tag] ?? tag, tag);
    pairs.set(text, pair);
  }
  return [...pairs.values()].map(({ tags, payload }) => ({
    prefixItems: [{ enum: tags }, payload],
  }));
}

/** Explains the meaning of a special product to the agent that writes it. */
function meaningOf(type: AlgebraicType): JsonSchema {
  const kind = specialKindOf(type);
  const description = kind === undefined ? undefined : meanings[kind];
  return description === undefined ? {} : { description };
}

const meanings: Readonly<Record<string, string>> = {
  identity: 'An identity: 64 hexadecimal digits after 0x.',
  connectionId: 'A connection of a client.',
  timestamp: 'Microseconds since 1970-01-01, UTC.',
  timeDuration: 'Microseconds.',
  uuid: 'The 128 bits as one number.',
};

const bytesSchema: JsonSchema = {
  type: ['string', 'array'],
  pattern: '^(?:[0-9a-fA-F]{2})*$',
  items: { type: 'integer', minimum: 0, maximum: 255 },
};

const integerSchemas: Readonly<Record<IntegerKind, JsonSchema>> = {
  i8: narrowInteger('i8'),
  u8: narrowInteger('u8'),
  i16: narrowInteger('i16'),
  u16: narrowInteger('u16'),
  i32: narrowInteger('i32'),
  u32: narrowInteger('u32'),
  i64: wideInteger('i64'),
  u64: wideInteger('u64'),
  i128: wideInteger('i128'),
  u128: wideInteger('u128'),
  i256: hexInteger('[+-]?0x0*[0-7]?[0-9a-fA-F]{1,63}|-0x0*80{63}'),
  u256: hexInteger('\\+?0x0*[0-9a-fA-F]{1,64}'),
};

function narrowInteger(kind: IntegerKind): JsonSchema {
  const { min, max } = integerRange[kind];
  return { type: 'integer', minimum: Number(min), maximum: Number(max) };
}

/** Returns a schema in which integers that a float cannot hold exactly must be quoted. */
function wideInteger(kind: IntegerKind): JsonSchema {
  const { min, max } = integerRange[kind];
  const isSigned = min < 0n;
  return {
    type: ['string', 'integer'],
    minimum: isSigned ? Number.MIN_SAFE_INTEGER : 0,
    maximum: Number.MAX_SAFE_INTEGER,
    pattern: `^${isSigned ? '-?' : ''}(?:0|[1-9][0-9]{0,${String(max).length - 1}})$`,
  };
}

function hexInteger(pattern: string): JsonSchema {
  return { type: 'string', pattern: `^(?:${pattern})$` };
}
