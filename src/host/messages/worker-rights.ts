import type { Rights } from '../../database/outcome.ts';
import type { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';

/**
 * Rights on their way to a worker:
 *
 * ```
 * key string · flags u16 (bit 0 readsPrivateTables, 1 writes, 2 exceedsRowLimit, 3 bypassesFilters,
 *   4 callsPrivateReducers, 5 previews, 6 isReadOnly, 7 has tables, 8 has reducers, 9 has rowsMax,
 *   10 readsProgram, 11 writesByPreview)
 * tables, reducers: count u32, then strings · rowsMax u32
 * ```
 */
export function writeRights(writer: BinaryWriter, rights: Rights): void {
  const { tables, reducers, rowsMax } = rights;
  const flags = [
    rights.readsPrivateTables,
    rights.writes,
    rights.exceedsRowLimit,
    rights.bypassesFilters,
    rights.callsPrivateReducers,
    rights.previews,
    rights.isReadOnly,
    tables !== undefined,
    reducers !== undefined,
    rowsMax !== undefined,
    rights.readsProgram,
    rights.writesByPreview === true,
  ];
  writer.string(rights.key);
  writer.u16(flags.reduce((sum, flag, bit) => sum + (flag ? 1 << bit : 0), 0));
  for (const names of [tables, reducers]) if (names !== undefined) writeNames(writer, names);
  if (rowsMax !== undefined) writer.u32(rowsMax);
}

export function readRights(reader: BinaryReader): Rights {
  const key = reader.string();
  const flags = reader.u16();
  const has = (bit: number) => (flags & (1 << bit)) !== 0;
  return {
    key,
    readsPrivateTables: has(0),
    writes: has(1),
    exceedsRowLimit: has(2),
    bypassesFilters: has(3),
    callsPrivateReducers: has(4),
    previews: has(5),
    isReadOnly: has(6),
    readsProgram: has(10),
    ...(has(11) ? { writesByPreview: true } : {}),
    ...(has(7) ? { tables: readNames(reader) } : {}),
    ...(has(8) ? { reducers: readNames(reader) } : {}),
    ...(has(9) ? { rowsMax: reader.u32() } : {}),
  };
}

function writeNames(writer: BinaryWriter, names: ReadonlySet<string>): void {
  writer.u32(names.size);
  for (const name of names) writer.string(name);
}

function readNames(reader: BinaryReader): ReadonlySet<string> {
  return new Set(Array.from({ length: reader.u32() }, () => reader.string()));
}
