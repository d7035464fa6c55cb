import type { ModuleDefinition } from '../schema/definition.ts';
import { columnsLeftOut } from '../schema/left-out.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson, type FilledTypespace, type JsonValue, parseJson } from '../values/json.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';

/**
 * The typespace with which arguments of people and agents are read: it knows what is filled in
 * where a row of a table lacks columns. `definition` is flat.
 */
export function argumentTypespace(definition: ModuleDefinition): Typespace {
  const made = known.get(definition) ?? filledTypespace(definition);
  known.set(definition, made);
  return made;
}

const known = new WeakMap<ModuleDefinition, Typespace>();

function filledTypespace(definition: ModuleDefinition): Typespace {
  const { typespace } = definition;
  const columns = columnsLeftOut(definition);
  if (columns.size === 0) return typespace;
  const leftOut = new Map<AlgebraicType, readonly (JsonValue | undefined)[]>();
  for (const [ref, filled] of columns) {
    const row = typespace.types[ref];
    if (row?.kind !== 'product') continue;
    const values = filled.map((bytes, at) => {
      const type = row.elements[at]?.type;
      if (bytes === undefined || type === undefined) return undefined;
      return parseJson(encodedToJson(type, new BinaryReader(bytes), 'plain', typespace));
    });
    leftOut.set(row, values);
  }
  const whole: FilledTypespace = { ...typespace, leftOut };
  return whole;
}
