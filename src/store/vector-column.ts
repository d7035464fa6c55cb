import type { TableSpec } from '../schema/catalog.ts';
import { readU32 } from '../values/read-bytes.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { RowShape } from './row-shape.ts';

/** A column whose values are vectors of one length. */
export interface VectorColumn {
  readonly column: number;
  readonly length: number;
  /** A value need not be there. */
  readonly isOption: boolean;
}

/** A row that was not written, because a vector in it has another length than its column. */
export interface VectorFault {
  readonly table: string;
  readonly column: string;
  readonly expected: number;
  readonly got: number;
}

export function vectorColumnsOf(spec: TableSpec, shape: RowShape): readonly VectorColumn[] {
  return spec.columns.flatMap(({ vectorLength: length }, column) => {
    if (length === undefined) return [];
    const type = shape.columnTypes[column];
    const isOption = type !== undefined && specialKindOf(type) === 'option';
    return [{ column, length, isOption }];
  });
}

/** The first vector of another length in the valid row at the start of `row`. */
export function vectorFaultOf(
  { name, columns: specs }: TableSpec,
  shape: RowShape,
  columns: readonly VectorColumn[],
  row: Uint8Array,
): VectorFault | undefined {
  for (const { column, length, isOption } of columns) {
    let at = shape.startOf(row, 0, column);
    if (isOption && row[at++] !== 0) continue;
    const got = readU32(row, at);
    if (got === length) continue;
    return { table: name, column: specs[column]?.name ?? '', expected: length, got };
  }
  return undefined;
}

/** One text for all who write rows. */
export function vectorFaultText({ table, column, expected, got }: VectorFault): string {
  const holds = `holds vectors of ${expected} elements, not ${got}`;
  return `The column \`${column}\` of table \`${table}\` ${holds}`;
}
