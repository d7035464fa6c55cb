import type { IndexAlgorithm } from '../../src/schema/definition.ts';
import { DefinitionErrors } from '../../src/schema/problems.ts';
import {
  emptyRawModule,
  type RawIndex,
  type RawModule,
  type RawReducer,
  type RawTable,
} from '../../src/schema/raw-module.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { product, timestampType, unitType } from '../../src/values/special-types.ts';
import type { AlgebraicType } from '../../src/values/type.ts';

/** All that is wrong with a module; nothing when it is fine. */
export function problemsOf(raw: RawModule): readonly string[] {
  try {
    validateModule(raw);
    return [];
  } catch (error) {
    if (error instanceof DefinitionErrors) return error.messages;
    throw error;
  }
}

/** A table as a test wants to write it; columns are named, not counted. */
export interface TableSketch {
  readonly name: string;
  readonly columns: Readonly<Record<string, AlgebraicType>>;
  /** Gets a unique constraint and a btree index, like those of `unique` with one column. */
  readonly primaryKey?: string;
  readonly unique?: readonly (readonly string[])[];
  readonly autoInc?: readonly string[];
  readonly indexes?: readonly IndexSketch[];
  readonly defaults?: Readonly<Record<string, Uint8Array>>;
  readonly access?: 'public' | 'private';
  readonly isEvent?: boolean;
}

export interface IndexSketch {
  readonly columns: readonly string[];
  readonly algorithm?: IndexAlgorithm;
  readonly accessor?: string;
  readonly sourceName?: string;
}

export const u8: AlgebraicType = { kind: 'u8' };
export const u32: AlgebraicType = { kind: 'u32' };
export const u64: AlgebraicType = { kind: 'u64' };
export const text: AlgebraicType = { kind: 'string' };

export function ref(index: number): AlgebraicType {
  return { kind: 'ref', ref: index };
}

/**
 * A raw module with these tables, whose row types come first in the typespace (table `i` has ref `i`)
 * and are named after their tables. `parts` replace or, for the typespace and types, follow.
 */
export function moduleOf(
  tables: readonly TableSketch[],
  parts: Partial<RawModule> = {},
  rowTypeName = (table: string) => `${table}Row`,
): RawModule {
  const rowTypes = tables.map((table) => product(...Object.entries(table.columns)));
  const rowNames = tables.map((table, index) => {
    return { scope: [], sourceName: rowTypeName(table.name), ref: index, customOrdering: true };
  });
  return {
    ...emptyRawModule,
    tables: tables.map((table, index) => rawTable(table, index)),
    ...parts,
    typespace: { types: [...rowTypes, ...(parts.typespace?.types ?? [])] },
    types: [...rowNames, ...(parts.types ?? [])],
  };
}

/** Names the type at `ref`. */
export function named(sourceName: string, refIndex: number, customOrdering = true) {
  return { scope: [], sourceName, ref: refIndex, customOrdering };
}

export function reducer(
  sourceName: string,
  params: Readonly<Record<string, AlgebraicType>> = {},
): RawReducer {
  return {
    sourceName,
    params: product(...Object.entries(params)),
    visibility: 'clientCallable',
    okReturnType: unitType,
    errReturnType: text,
  };
}

export function rawTable(sketch: TableSketch, rowTypeRef: number): RawTable {
  const names = Object.keys(sketch.columns);
  const position = (name: string) => names.indexOf(name);
  const key = sketch.primaryKey;
  const unique = [...(key === undefined ? [] : [[key]]), ...(sketch.unique ?? [])];
  const indexes = [...unique.map((columns) => ({ columns })), ...(sketch.indexes ?? [])];
  return {
    sourceName: sketch.name,
    rowTypeRef,
    primaryKey: key === undefined ? [] : [position(key)],
    indexes: indexes.map((index) => rawIndex(sketch.name, index, position)),
    constraints: unique.map((columns) => ({
      sourceName: undefined,
      columns: columns.map(position),
    })),
    sequences: (sketch.autoInc ?? []).map((name) => ({
      sourceName: undefined,
      column: position(name),
      start: undefined,
      minValue: undefined,
      maxValue: undefined,
      increment: 1n,
    })),
    tableType: 'user',
    access: sketch.access ?? 'public',
    defaultValues: Object.entries(sketch.defaults ?? {}).map(([name, value]) => {
      return { column: position(name), value };
    }),
    isEvent: sketch.isEvent ?? false,
  };
}

function rawIndex(
  table: string,
  { columns, algorithm = 'btree', accessor, sourceName }: IndexSketch,
  position: (name: string) => number,
): RawIndex {
  return {
    sourceName: sourceName ?? `${[table, ...columns].join('_')}_idx_${algorithm}`,
    accessorName: accessor ?? columns[0],
    algorithm,
    columns: columns.map(position),
  };
}

/** The module of the worked example: a table `person` and a reducer `add`. */
export const personModule: RawModule = moduleOf(
  [{ name: 'person', columns: { id: u32, name: text }, primaryKey: 'id', autoInc: ['id'] }],
  { reducers: [reducer('add', { name: text })] },
  () => 'Person',
);

/** A module with a cron `nightly`, and with `person`. */
export const cronModule: RawModule = {
  ...personModule,
  reducers: [...personModule.reducers, reducer('nightly', { due: timestampType })],
  crons: [
    {
      functionName: 'nightly',
      expression: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      policy: { catchUp: 'once', retry: { attempts: 3, backoffMicros: 1_000_000n } },
    },
  ],
};
