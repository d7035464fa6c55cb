import { type SpecialKind, specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType } from '../values/type.ts';
import type { BindingPlan } from './binding-plan.ts';
import { keyText, propertyName, quoted, typeName } from './names.ts';
import { refsIn } from './recursive-types.ts';
import { entryText, indent, objectText, type SourceFile } from './source-file.ts';
import { valueTypeText } from './value-type-text.ts';

/** Where builders are written: the file, and its path to the file of named types. */
export interface BuilderPlace {
  readonly file: SourceFile;
  readonly plan: BindingPlan;
  /** `undefined`: in that file itself. */
  readonly typesPath: string | undefined;
}

/** `__t.array(Mood)`: a type as an expression. */
export function builderText(type: AlgebraicType, place: BuilderPlace): string {
  const of = (inner: AlgebraicType | undefined) => builderText(inner ?? unit, place);
  if (type.kind === 'ref') return refText(type.ref, place);
  const t = place.file.library('t');
  const special = specialKindOf(type);
  switch (special) {
    case undefined:
      break;
    case 'option':
      return `${t}.option(${of(partsOf(type)[0]?.type)})`;
    case 'result':
      return `${t}.result(${of(partsOf(type)[0]?.type)}, ${of(partsOf(type)[1]?.type)})`;
    default:
      return `${t}.${plainSpecials[special]}()`;
  }
  switch (type.kind) {
    case 'array':
      return `${t}.array(${of(type.element)})`;
    case 'product':
      return definitionText('Anonymous', type, place);
    case 'sum':
      return definitionText('Never', type, place);
    default:
      return `${t}.${type.kind}()`;
  }
}

/** The definition of a named type: `__t.object('Spot', { … })`. */
export function definitionText(name: string, type: AlgebraicType, place: BuilderPlace): string {
  const t = place.file.library('t');
  if (specialKindOf(type) === undefined) {
    if (type.kind === 'product') {
      return `${t}.object(${quoted(name)}, ${fieldsText(type.elements, place)})`;
    }
    if (type.kind === 'sum') {
      const cases = type.variants.map((variant) => ({
        ...variant,
        key: typeName(variant.name ?? ''),
      }));
      const entries = cases.map(({ key, type: payload }) => fieldText(key, payload, '', place));
      return `${t}.enum(${quoted(name)}, ${objectText(entries)})`;
    }
  }
  const text = builderText(type, place);
  // A type that it names may be defined further down.
  return refsIn(type).length === 0 ? text : `${t}.lazy(() => ${text})`;
}

/** Fields of an object, or parameters of a function. */
export function fieldsText(fields: readonly NamedType[], place: BuilderPlace): string {
  const entries = fields.map(({ name, type }) => {
    return fieldText(propertyName(name ?? ''), type, '', place);
  });
  return objectText(entries);
}

/** Columns of a row, each with its SQL name where that differs. */
export function columnsText(
  columns: readonly NamedType[],
  primaryKey: number | undefined,
  place: BuilderPlace,
): string {
  const entries = columns.map(({ name = '', type }, position) => {
    const key = propertyName(name);
    const isKey = position === primaryKey && canBeKey(type, place.plan);
    const isRenamed = key !== name && canBeNamed(type);
    const modifiers = `${isKey ? '.primaryKey()' : ''}${isRenamed ? `.name(${quoted(name)})` : ''}`;
    return fieldText(key, type, modifiers, place);
  });
  return objectText(entries);
}

/**
 * A field that mentions a named type is a getter: the type may be defined later, or be this one.
 */
function fieldText(
  key: string,
  type: AlgebraicType,
  modifiers: string,
  place: BuilderPlace,
): string {
  const text = `${builderText(type, place)}${modifiers}`;
  if (!namedRefs(type, place.plan).length) return entryText(key, text);
  const annotation = isCircular(type, place) ? `: ${circularType(type, place)}` : '';
  return `get ${keyText(key)}()${annotation} {\n${indent(`return ${text};`)}\n},`;
}

/** The compiler cannot infer the type of a builder that is part of its own definition. */
function isCircular(type: AlgebraicType, { plan, typesPath }: BuilderPlace): boolean {
  return typesPath === undefined && namedRefs(type, plan).some((ref) => plan.circles.has(ref));
}

function circularType(type: AlgebraicType, { file, plan }: BuilderPlace): string {
  return `${file.libraryType('TypeBuilder')}<${valueTypeText(type, { file, plan })}, any>`;
}

/** Refs with a name, direct or reached through refs without one. */
function namedRefs(type: AlgebraicType, plan: BindingPlan): number[] {
  return refsIn(type).flatMap((ref) => {
    if (plan.typeNames.has(ref)) return [ref];
    const target = plan.typespace.types[ref];
    return target === undefined ? [] : namedRefs(target, plan);
  });
}

function refText(ref: number, place: BuilderPlace): string {
  const name = place.plan.typeNames.get(ref);
  if (name === undefined) return builderText(place.plan.typespace.types[ref] ?? unit, place);
  const { typesPath, file } = place;
  return typesPath === undefined ? name : file.local(name, typesPath);
}

/** The library supports no other type as a key; such a row is identified by all its bytes. */
function canBeKey(type: AlgebraicType, { typespace }: BindingPlan): boolean {
  if (type.kind === 'ref') return typespace.types[type.ref]?.kind === 'sum';
  const special = specialKindOf(type);
  if (special !== undefined) return keySpecials.has(special);
  return !['array', 'product', 'sum', 'f32', 'f64'].includes(type.kind);
}

/** The library has no names for these types, and SQL cannot compare them. */
function canBeNamed(type: AlgebraicType): boolean {
  return !['result', 'unit'].includes(specialKindOf(type) ?? '');
}

const keySpecials: ReadonlySet<SpecialKind> = new Set([
  'identity',
  'connectionId',
  'timestamp',
  'timeDuration',
  'uuid',
]);

const plainSpecials: Readonly<Record<Exclude<SpecialKind, 'option' | 'result'>, string>> = {
  identity: 'identity',
  connectionId: 'connectionId',
  timestamp: 'timestamp',
  timeDuration: 'timeDuration',
  uuid: 'uuid',
  scheduleAt: 'scheduleAt',
  unit: 'unit',
  bytes: 'byteArray',
};

const unit: AlgebraicType = { kind: 'product', elements: [] };

function partsOf(type: AlgebraicType): readonly NamedType[] {
  return type.kind === 'sum' ? type.variants : [];
}
