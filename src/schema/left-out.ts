import { limits } from '../limits.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { ModuleDefinition, TableDefinition } from './definition.ts';

/**
 * The columns that rows in the arguments of calls can leave out, by the ref of the row type: for
 * each position the encoded value that is filled in, or `undefined`. A column of a sequence gets
 * zero, which an insert replaces by the next number, and another one its default. Options are not
 * among them: any of them can be left out. Where tables share a row type, all of them agree.
 *
 * Defaults that take more than `limits.leftOutBytesMax` in one row have to be written: a short text
 * could else stand for any number of bytes. `definition` is flat.
 */
export function columnsLeftOut(definition: ModuleDefinition): LeftOutColumns {
  const made = known.get(definition) ?? read(definition);
  known.set(definition, made);
  return made;
}

export type LeftOutColumns = ReadonlyMap<number, readonly (Uint8Array | undefined)[]>;

const known = new WeakMap<ModuleDefinition, LeftOutColumns>();

function read({ tables, typespace }: ModuleDefinition): LeftOutColumns {
  const byRef = new Map<number, readonly (Uint8Array | undefined)[]>();
  for (const table of tables) {
    const filled = filledIn(table, typespace.types[table.rowTypeRef]);
    const others = byRef.get(table.rowTypeRef);
    byRef.set(table.rowTypeRef, others === undefined ? filled : agreed(filled, others));
  }
  return new Map([...byRef].filter(([, filled]) => filled.some((bytes) => bytes !== undefined)));
}

function filledIn(
  { columns, sequences }: TableDefinition,
  row: AlgebraicType | undefined,
): readonly (Uint8Array | undefined)[] {
  const elements = row?.kind === 'product' ? row.elements : [];
  const defaults = columns.map(({ defaultBytes }, at) => {
    const type = elements[at]?.type;
    return type === undefined || specialKindOf(type) === 'option' ? undefined : defaultBytes;
  });
  const bytes = defaults.reduce((sum, value) => sum + (value?.length ?? 0), 0);
  return columns.map(({ type }, at) => {
    if (sequences.some(({ column }) => column === at)) return zeroOf(type);
    return bytes > limits.leftOutBytesMax ? undefined : defaults[at];
  });
}

/** The encoding of zero of an integer: `u64` takes 8 bytes. */
function zeroOf({ kind }: AlgebraicType): Uint8Array | undefined {
  const bits = /^[iu](\d+)$/.exec(kind)?.[1];
  return bits === undefined ? undefined : new Uint8Array(Number(bits) / 8);
}

function agreed(
  some: readonly (Uint8Array | undefined)[],
  others: readonly (Uint8Array | undefined)[],
): readonly (Uint8Array | undefined)[] {
  return some.map((bytes, at) => {
    const other = others[at];
    const isSame =
      bytes?.length === other?.length && bytes?.every((byte, i) => byte === other?.[i]);
    return isSame === true ? bytes : undefined;
  });
}
