import type { ModuleDefinition } from '../schema/definition.ts';
import { columnsLeftOut } from '../schema/left-out.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson, type FilledTypespace, type JsonValue, parseJson } from '../values/json.ts';
import type { AlgebraicType, ProductType, Typespace } from '../values/type.ts';

/**
 * The typespace with which arguments of people and agents are read: it knows what is filled in
 * where a row of a table lacks columns, or a call parameters. `definition` is flat.
 */
export function argumentTypespace(definition: ModuleDefinition): Typespace {
  const made = known.get(definition) ?? filledTypespace(definition);
  known.set(definition, made);
  return made;
}

const known = new WeakMap<ModuleDefinition, Typespace>();

function filledTypespace(definition: ModuleDefinition): Typespace {
  const { typespace, reducers, procedures } = definition;
  const columns = columnsLeftOut(definition);
  const leftOut = new Map<AlgebraicType, readonly (JsonValue | undefined)[]>();
  for (const [ref, filled] of columns) {
    const row = typespace.types[ref];
    if (row?.kind === 'product') leftOut.set(row, plainValues(row, filled, typespace));
  }
  const parameters = new Set<AlgebraicType>();
  for (const { params, paramDefaults } of [...reducers, ...procedures]) {
    if (paramDefaults === undefined) continue;
    leftOut.set(params, plainValues(params, paramDefaults, typespace));
    parameters.add(params);
  }
  if (leftOut.size === 0) return typespace;
  const whole: FilledTypespace = { ...typespace, leftOut, parameters };
  return whole;
}

function plainValues(
  { elements }: ProductType,
  filled: readonly (Uint8Array | undefined)[],
  typespace: Typespace,
): readonly (JsonValue | undefined)[] {
  return elements.map(({ type }, at) => {
    const bytes = filled[at];
    if (bytes === undefined) return undefined;
    return parseJson(encodedToJson(type, new BinaryReader(bytes), 'plain', typespace));
  });
}
