import type { TableSpec } from '../../schema/catalog.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { OutputColumn } from './typed.ts';

/** The relations that an expression may refer to: those of its block, then those around it. */
export interface Scope {
  readonly relations: readonly ScopeRelation[];
  readonly outer: Scope | undefined;
}

export interface ScopeRelation {
  readonly slot: number;
  readonly name: string;
  readonly columns: readonly ScopeColumn[];
  /** The null side of a left join: every column may be null. */
  readonly isNullable: boolean;
  /** Position of the table's primary key: grouping by it allows naming all columns. */
  readonly primaryKey?: number | undefined;
  /** The table or view that a query reads by this name. */
  readonly table?: TableSpec;
}

export interface ScopeColumn {
  readonly name: string;
  /** The module's spelling; the same as `name` for derived relations. */
  readonly sourceName: string;
  readonly type: AlgebraicType;
  readonly isNullable: boolean;
}

export const unqualifiedMessage = 'Names must be qualified when using joins';

export const emptyScope: Scope = { relations: [], outer: undefined };

export function columnsOfTable(table: TableSpec): readonly ScopeColumn[] {
  return table.columns.map(({ name, sourceName, type }) => {
    return { name, sourceName, type, isNullable: false };
  });
}

/** `names` replaces the first column names, as in `WITH x (a, b) AS …`. */
export function columnsOfQuery(
  columns: readonly OutputColumn[],
  names: readonly string[] = [],
): readonly ScopeColumn[] {
  return columns.map((column, at) => {
    const name = names[at] ?? column.name;
    return { name, sourceName: name, type: column.type, isNullable: column.isNullable };
  });
}

/** Position of the column that `name` means: the module's spelling first. */
export function columnPosition(
  columns: readonly { readonly name: string; readonly sourceName: string }[],
  name: string,
): number {
  const bySource = columns.findIndex((column) => column.sourceName === name);
  return bySource !== -1 ? bySource : columns.findIndex((column) => column.name === name);
}

/** Refuses a name that occurs twice; `span` covers the second one. */
export function requireDistinct(
  names: readonly string[],
  refusal: (message: string, at: number) => Error,
): void {
  const seen = new Set<string>();
  names.forEach((name, at) => {
    if (seen.has(name)) throw refusal(`Duplicate name \`${name}\``, at);
    seen.add(name);
  });
}
