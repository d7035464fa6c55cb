import type { ModuleDefinition } from '../schema/definition.ts';
import { scopesOf } from '../schema/flatten.ts';
import { type SpecialKind, specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType, Typespace } from '../values/type.ts';
import { keyText, quoted, typeName } from './names.ts';

/**
 * TypeScript types of values as a module's own code sees them, in the spelling of the module:
 * named types get a declaration each, so recursive ones are no matter.
 */
export class ModuleTypeTexts {
  /** Names of types, by typespace and ref. */
  readonly #names = new Map<Typespace, Map<number, string>>();
  /** Declarations by name, in the order of their first use. */
  readonly #declared = new Map<string, string>();
  /** Classes of `reducerdb/server` that the texts name. */
  readonly #imports = new Set<string>();

  /** `taken`: names that types cannot have. */
  constructor(definition: ModuleDefinition, taken: readonly string[]) {
    const used = new Set([...taken, ...Object.values(classes), ...globals]);
    for (const { module } of scopesOf(definition)) {
      const rows = new Set(module.tables.map(({ rowTypeRef }) => rowTypeRef));
      const named = module.types.filter(({ ref }) => !rows.has(ref));
      const names = named.map(({ ref, sourceName }) => [ref, freeName(sourceName, used)] as const);
      this.#names.set(module.sourceTypespace, new Map(names));
    }
  }

  get imports(): readonly string[] {
    return [...this.#imports].sort();
  }

  /** `type Mood = …;`, one for each named type that was used. */
  get declarations(): readonly string[] {
    return [...this.#declared].map(([name, text]) => `type ${name} = ${text};`);
  }

  of(type: AlgebraicType, typespace: Typespace): string {
    if (type.kind === 'ref') return this.#refText(type.ref, typespace);
    const special = specialKindOf(type);
    if (special !== undefined && special in classes) {
      const name = classes[special as keyof typeof classes];
      this.#imports.add(name);
      return name;
    }
    const of = (inner: AlgebraicType | undefined) => {
      return inner === undefined ? 'never' : this.of(inner, typespace);
    };
    const variants = type.kind === 'sum' ? type.variants : [];
    if (special === 'bytes') return 'Uint8Array';
    if (special === 'unit') return 'Record<never, never>';
    if (special === 'option') return `${of(variants[0]?.type)} | undefined`;
    if (special === 'result') {
      return `{ ok: ${of(variants[0]?.type)} } | { err: ${of(variants[1]?.type)} }`;
    }
    switch (type.kind) {
      case 'array':
        return arrayText(of(type.element));
      case 'product':
        return `{ ${type.elements.map((field) => fieldText(field, of)).join('; ')} }`;
      case 'sum':
        return variants.map((variant) => variantText(variant, of)).join(' | ') || 'never';
      default:
        return scalarText(type.kind);
    }
  }

  #refText(ref: number, typespace: Typespace): string {
    const target = typespace.types[ref];
    const name = this.#names.get(typespace)?.get(ref);
    if (target === undefined) return 'never';
    if (name === undefined) return this.of(target, typespace);
    if (!this.#declared.has(name)) {
      // First, so that a type that contains itself ends here.
      this.#declared.set(name, '');
      this.#declared.set(name, this.of(target, typespace));
    }
    return name;
  }
}

function freeName(sourceName: string, used: Set<string>): string {
  const wanted = typeName(sourceName);
  let name = wanted;
  for (let count = 2; used.has(name); count += 1) name = `${wanted}${count}`;
  used.add(name);
  return name;
}

function arrayText(element: string): string {
  return /^[\w$]+$/.test(element) ? `${element}[]` : `(${element})[]`;
}

function fieldText({ name = '', type }: NamedType, of: (type: AlgebraicType) => string): string {
  return `${keyText(name)}: ${of(type)}`;
}

function variantText({ name = '', type }: NamedType, of: (type: AlgebraicType) => string): string {
  const tag = `tag: ${quoted(name)}`;
  return specialKindOf(type) === 'unit' ? `{ ${tag} }` : `{ ${tag}; value: ${of(type)} }`;
}

function scalarText(kind: AlgebraicType['kind']): string {
  if (kind === 'bool') return 'boolean';
  if (kind === 'string') return 'string';
  return /^[iu](64|128|256)$/.test(kind) ? 'bigint' : 'number';
}

const classes = {
  identity: 'Identity',
  connectionId: 'ConnectionId',
  timestamp: 'Timestamp',
  timeDuration: 'TimeDuration',
  uuid: 'Uuid',
  scheduleAt: 'ScheduleAt',
} as const satisfies Partial<Record<SpecialKind, string>>;

const globals = ['Uint8Array', 'Record', 'Error', 'BigInt', 'Number', 'String', 'Before'];
