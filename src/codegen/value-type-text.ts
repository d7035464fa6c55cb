import { type SpecialKind, specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType } from '../values/type.ts';
import type { BindingPlan } from './binding-plan.ts';
import { keyText, propertyName, quoted, typeName } from './names.ts';
import type { SourceFile } from './source-file.ts';

interface TypePlace {
  readonly file: SourceFile;
  readonly plan: BindingPlan;
}

/**
 * The TypeScript type of a type's values, written out. Needed only for recursive types; all others
 * are inferred from their builders.
 */
export function valueTypeText(type: AlgebraicType, place: TypePlace): string {
  const of = (inner: AlgebraicType | undefined) =>
    inner === undefined ? 'never' : valueTypeText(inner, place);
  if (type.kind === 'ref') {
    return place.plan.typeNames.get(type.ref) ?? of(place.plan.typespace.types[type.ref]);
  }
  const special = specialKindOf(type);
  if (special !== undefined && special in classes) {
    return place.file.libraryType(classes[special as keyof typeof classes]);
  }
  switch (special) {
    case 'bytes':
      return globalType('Uint8Array', place);
    case 'unit':
      return `${globalType('Record', place)}<never, never>`;
    case 'option':
      return type.kind === 'sum' ? `${of(type.variants[0]?.type)} | undefined` : 'never';
    case 'result': {
      const [ok, err] = type.kind === 'sum' ? type.variants : [];
      return `{ ok: ${of(ok?.type)} } | { err: ${of(err?.type)} }`;
    }
  }
  switch (type.kind) {
    case 'array':
      return `(${of(type.element)})[]`;
    case 'product':
      return `{ ${fieldTexts(type.elements, of).join('; ')} }`;
    case 'sum':
      return sumText(type.variants, of);
    default:
      return scalarText(type.kind);
  }
}

/** A global type of TypeScript, which a type of the module may shadow. */
function globalType(name: string, { plan }: TypePlace): string {
  return [...plan.typeNames.values()].includes(name) ? `globalThis.${name}` : name;
}

function fieldTexts(fields: readonly NamedType[], of: (type: AlgebraicType) => string): string[] {
  return fields.map(({ name = '', type }) => `${keyText(propertyName(name))}: ${of(type)}`);
}

function sumText(variants: readonly NamedType[], of: (type: AlgebraicType) => string): string {
  if (variants.length === 0) return 'never';
  const cases = variants.map(({ name = '', type }) => {
    const tag = `tag: ${quoted(typeName(name))}`;
    return specialKindOf(type) === 'unit' ? `{ ${tag} }` : `{ ${tag}; value: ${of(type)} }`;
  });
  return cases.join(' | ');
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
