import type { AlgebraicType, ModuleDefinition } from '../schema/definition.ts';
import type { ScalarKind } from '../values/type.ts';

/**
 * The definition with only the types that its tables, views and functions use. Types of what was
 * left out would reveal it by their names and their fields. References are positions, so each such
 * type is replaced by an empty one.
 */
export function withTypesInUse(definition: ModuleDefinition): ModuleDefinition {
  const { typespace, types } = definition;
  const used = usedRefs(definition);
  return {
    ...definition,
    typespace: { types: typespace.types.map((type, ref) => (used.has(ref) ? type : nothing)) },
    types: types.filter(({ ref }) => used.has(ref)),
  };
}

const nothing: AlgebraicType = { kind: 'product', elements: [] };

function usedRefs(definition: ModuleDefinition): ReadonlySet<number> {
  const used = new Set<number>();
  // A stack, because types can refer to each other in long chains.
  const waiting = usedTypes(definition);
  for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
    if (type.kind === 'ref') {
      const target = definition.typespace.types[type.ref];
      if (used.has(type.ref) || target === undefined) continue;
      used.add(type.ref);
      waiting.push(target);
    } else {
      waiting.push(...innerTypes(type));
    }
  }
  return used;
}

function usedTypes(definition: ModuleDefinition): AlgebraicType[] {
  const { tables, views, reducers, procedures } = definition;
  return [
    ...namedParameters(definition),
    ...tables.flatMap(({ rowTypeRef, columns }): AlgebraicType[] => [
      { kind: 'ref', ref: rowTypeRef },
      ...columns.map(({ type }) => type),
    ]),
    ...views.flatMap(({ params, returnType, columns }) => [
      params,
      returnType,
      ...columns.map(({ type }) => type),
    ]),
    ...reducers.flatMap(({ params, returns, throws }) => [
      params,
      ...(returns === undefined ? [] : [returns]),
      ...(throws === undefined ? [] : [throws]),
    ]),
    ...procedures.flatMap(({ params, returnType }) => [params, returnType]),
  ];
}

/**
 * Types with the name of a function: the types of its parameters, written out under a name, which
 * the function itself does not refer to.
 */
function namedParameters({ types, reducers, procedures }: ModuleDefinition): AlgebraicType[] {
  const functions = [...reducers, ...procedures];
  const names = new Set(functions.flatMap((one) => [one.name, one.sourceName].map(spelling)));
  return types
    .filter(({ name }) => names.has(spelling(name)))
    .map(({ ref }) => ({ kind: 'ref', ref }));
}

/** One spelling for all cases in which a name can be written. */
function spelling(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

function innerTypes(type: AlgebraicType): readonly AlgebraicType[] {
  switch (type.kind) {
    case 'product':
      return type.elements.map((element) => element.type);
    case 'sum':
      return type.variants.map((variant) => variant.type);
    case 'array':
      return [type.element];
    case 'ref':
      return [];
    default:
      type.kind satisfies ScalarKind;
      return [];
  }
}
