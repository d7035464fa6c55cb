import { toBase64 } from '../values/base64.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { ColumnDefinition, ModuleDefinition } from './definition.ts';
import { flatDefinition } from './flat-definition.ts';
import { type FullTable, fullTablesOf } from './flatten.ts';
import { type Leg, type LegPlan, type LegTable, planLeg } from './migration-leg.ts';
import { rowSpelling } from './row-spelling.ts';

/** A range of a program's migrations, by their positions, both included. */
export interface Stretch {
  readonly direction: 'up' | 'down';
  readonly first: number;
  readonly last: number;
}

/**
 * How the rows of one table go through a stretch: what the library inside the program is sent, as
 * JSON. Names are spelled as the module spells them, and bytes are Base64.
 */
export interface RowsRoute {
  /** The type of the rows, and the types that its refs are to. */
  readonly row: AlgebraicType;
  readonly types: readonly AlgebraicType[];
  readonly table: string;
  readonly direction: 'up' | 'down';
  readonly legs: readonly RouteLeg[];
  /** Where rows can end, by spelled name. */
  readonly out: Readonly<Record<string, RouteEnd>>;
  /** What functions of the first leg can read; empty where none does. */
  readonly old: readonly RouteTable[];
}

export interface RouteLeg {
  /** Position of the migration. */
  readonly at: number;
  /** By the spelled name of each table before. */
  readonly tables: Readonly<Record<string, Recipe>>;
  /** What refs of the types of values that are filled in are to. */
  readonly types: readonly AlgebraicType[];
}

/** How a row becomes rows. `to`: a table by its spelled name. `step`: whose function does it. */
export type Recipe =
  | { readonly kind: 'same'; readonly to: string }
  | { readonly kind: 'columns'; readonly to: string; readonly columns: readonly RecipeColumn[] }
  | { readonly kind: 'map'; readonly step: number; readonly to: string; readonly fill: Fill }
  | { readonly kind: 'split'; readonly step: number; readonly into: Readonly<Record<string, Fill>> }
  /** The rows are discarded. */
  | { readonly kind: 'none' }
  /** There must be no rows. */
  | { readonly kind: 'refuse' };

export interface RecipeColumn {
  readonly name: string;
  /** The column before whose value it has. */
  readonly old?: string;
  readonly step?: number;
  readonly value?: FilledValue;
}

/** Columns that a function can leave out. */
export type Fill = readonly { readonly name: string; readonly value: FilledValue }[];

export interface FilledValue {
  readonly type: AlgebraicType;
  readonly bytes: string;
}

export interface RouteEnd {
  /** Full canonical name. */
  readonly name: string;
  readonly row: AlgebraicType;
  readonly types: readonly AlgebraicType[];
}

/** A table that whole steps, and functions that read, have a handle of. */
export interface RouteTable {
  readonly name: string;
  /** Name of the table in the store. */
  readonly host: string;
  readonly row: AlgebraicType;
  readonly types: readonly AlgebraicType[];
  readonly fill: Fill;
  /** Columns whose zeros the host replaces. */
  readonly counted: readonly string[];
  readonly indexes: readonly RouteIndex[];
}

export interface RouteIndex {
  readonly accessor: string;
  readonly host: string;
  readonly algorithm: 'btree' | 'hash' | 'direct';
  readonly columns: readonly string[];
  readonly isUnique: boolean;
  readonly isSingleRow: boolean;
  readonly isPrimaryKey: boolean;
}

/** What a whole step of one migration is sent. */
export interface WholeRoute {
  readonly direction: 'up' | 'down';
  readonly at: number;
  readonly old: readonly RouteTable[];
  readonly next: readonly RouteTable[];
}

/** The legs of a stretch, in the order in which rows go through them. */
export function legsOf(definition: ModuleDefinition, { direction, first, last }: Stretch): Leg[] {
  const { migrations } = definition;
  const legs = migrations.slice(first, last + 1).map(({ id, from, steps, down = [] }, at): Leg => {
    const after = migrations[first + at + 1]?.from ?? definition;
    return direction === 'up'
      ? { id, at: first + at, direction, from, to: after, steps }
      : { id, at: first + at, direction, from: after, to: from, steps: down };
  });
  return direction === 'up' ? legs : legs.reverse();
}

/** `table`: full canonical name at the beginning. `undefined`: the stretch has no such table. */
export function rowsRoute(
  definition: ModuleDefinition,
  stretch: Stretch,
  table: string,
): RowsRoute | undefined {
  const plans = legsOf(definition, stretch).map(planLeg);
  const [first] = plans;
  const start = first?.byName.get(table);
  const end = plans.at(-1)?.leg.to;
  if (first === undefined || start === undefined || end === undefined) return undefined;
  const { rowType: row, typespace } = rowSpelling(first.leg.from, table);
  const reads = first.leg.steps.some((step) => 'reads' in step && step.reads);
  const out = fullTablesOf(end).map(({ table: { name, sourceName } }) => {
    const spelling = rowSpelling(end, name);
    const types = spelling.typespace.types;
    return [sourceName, { name, row: spelling.rowType, types }] as const;
  });
  return {
    row,
    types: typespace.types,
    table: start.draft.origin.table.sourceName,
    direction: stretch.direction,
    legs: plans.map(routeLeg),
    out: Object.fromEntries(out),
    old: reads ? routeTables(first.leg.from, 'old.') : [],
  };
}

/** The route of the whole steps of one migration. */
export function wholeRoute(
  definition: ModuleDefinition,
  { direction, last }: Pick<Stretch, 'direction' | 'last'>,
): WholeRoute | undefined {
  const [leg] = legsOf(definition, { direction, first: last, last });
  if (leg === undefined) return undefined;
  return {
    direction,
    at: last,
    old: routeTables(leg.from, 'old.'),
    next: routeTables(leg.to, ''),
  };
}

function routeLeg({ leg, tables }: LegPlan): RouteLeg {
  const { types } = flatDefinition(leg.to).sourceTypespace;
  const recipes = tables.map((table) => {
    return [table.draft.origin.table.sourceName, recipeOf(table, leg.to)] as const;
  });
  return { at: leg.at, tables: Object.fromEntries(recipes), types };
}

function recipeOf(
  { draft, fate, target, continued, into }: LegTable,
  to: ModuleDefinition,
): Recipe {
  const { end } = draft;
  if (fate.kind === 'discard') return { kind: 'none' };
  if (fate.kind === 'remove') return { kind: 'refuse' };
  if (end?.kind === 'split') {
    const fills = into.map((full) => [full.table.sourceName, fillOf(full, to)] as const);
    return { kind: 'split', step: end.step, into: Object.fromEntries(fills) };
  }
  if (target === undefined || continued === undefined) return { kind: 'refuse' };
  const name = target.table.sourceName;
  if (end?.kind === 'mapped') {
    return { kind: 'map', step: end.step, to: name, fill: fillOf(target, to) };
  }
  const spelled = rowSpelling(to, target.table.name);
  const columns = target.table.columns.map((column, position): RecipeColumn => {
    const at = continued.full.table.columns.findIndex((other) => other.name === column.name);
    const from = draft.columns[at];
    const old = draft.origin.table.columns[from?.origin ?? -1];
    if (from?.madeBy !== undefined) return { name: column.sourceName, step: from.madeBy };
    if (old !== undefined) return { name: column.sourceName, old: old.sourceName };
    return { name: column.sourceName, ...filled(column, spelled.columns[position]?.type) };
  });
  const isSame =
    columns.length === draft.origin.table.columns.length &&
    columns.every(({ name: column, old }) => column === old);
  return isSame ? { kind: 'same', to: name } : { kind: 'columns', to: name, columns };
}

function filled(
  { type, defaultBytes }: ColumnDefinition,
  spelled: AlgebraicType | undefined,
): { readonly value: FilledValue } {
  const bytes = toBase64(defaultBytes ?? new Uint8Array(0));
  return { value: { type: spelled ?? type, bytes } };
}

/** Defaults, and zeros that a sequence replaces. */
function fillOf({ table }: FullTable, definition: ModuleDefinition): Fill {
  const spelled = rowSpelling(definition, table.name);
  const counted = new Set(table.sequences.map(({ column }) => column));
  return table.columns.flatMap((column, position) => {
    const { sourceName: name } = column;
    const type = spelled.columns[position]?.type ?? column.type;
    if (counted.has(position)) {
      const bytes = new Uint8Array(integerBytes[type.kind] ?? 0);
      return { name, value: { type, bytes: toBase64(bytes) } };
    }
    return column.defaultBytes === undefined ? [] : { name, ...filled(column, type) };
  });
}

const integerBytes: Readonly<Partial<Record<AlgebraicType['kind'], number>>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  u64: 8,
  i64: 8,
  u128: 16,
  i128: 16,
  u256: 32,
  i256: 32,
};

/** Event tables have no rows to read, so they are left out. */
function routeTables(definition: ModuleDefinition, prefix: string): RouteTable[] {
  const full = fullTablesOf(definition).filter(({ table }) => !table.isEvent);
  return full.map((one): RouteTable => {
    const { table } = one;
    const spelled = rowSpelling(definition, table.name);
    const spelling = (positions: readonly number[]) => {
      return positions.map((position) => spelled.columns[position]?.sourceName ?? '');
    };
    const isUniqueAlone = (position: number) =>
      table.constraints.some(({ columns }) => columns.length === 1 && columns[0] === position);
    return {
      name: table.sourceName,
      host: prefix + table.name,
      row: spelled.rowType,
      types: spelled.typespace.types,
      fill: fillOf(one, definition),
      counted: spelling(table.sequences.map(({ column }) => column)),
      indexes: table.indexes.flatMap((index) => {
        if (index.accessorName === undefined) return [];
        const { columns, isUnique, algorithm } = index;
        return {
          accessor: index.accessorName,
          host: prefix + index.name,
          algorithm,
          columns: spelling(columns),
          isUnique,
          isSingleRow: isUnique || columns.every(isUniqueAlone),
          isPrimaryKey: columns.length === 1 && columns[0] === table.primaryKey,
        };
      }),
    };
  });
}
