import { present } from '../assert.ts';
import type {
  ModuleDefinition,
  ProcedureDefinition,
  ReducerDefinition,
  TableDefinition,
  ViewDefinition,
} from '../schema/definition.ts';
import { viewRowOf } from '../schema/view-rows.ts';
import type { ProductType, Typespace } from '../values/type.ts';

/**
 * The parts of a module under the names that it gives them itself, dotted in submodules, with types
 * whose fields and variants are spelled as it spells them.
 */
export interface ModuleNames {
  readonly tables: ReadonlyMap<string, NamedTable>;
  /** By canonical name: rows of live queries come under it. */
  readonly byName: ReadonlyMap<string, NamedTable>;
  readonly reducers: ReadonlyMap<string, ReducerDefinition>;
  readonly procedures: ReadonlyMap<string, ProcedureDefinition>;
  readonly typespace: Typespace;
}

/** A table or a view. */
export interface NamedTable {
  /** Canonical. */
  readonly name: string;
  readonly rowType: ProductType;
  /** Names of columns in the module and in the database. */
  readonly columns: readonly { readonly key: string; readonly name: string }[];
  /** Column of the module. */
  readonly primaryKey: string | undefined;
  readonly indexes: readonly NamedIndex[];
}

export interface NamedIndex {
  readonly accessor: string;
  /** Columns of the module. */
  readonly columns: readonly string[];
  /** A key has one row at most. */
  readonly isUnique: boolean;
}

const known = new WeakMap<ModuleDefinition, ModuleNames>();

/** `definition` is flat. */
export function namesOf(definition: ModuleDefinition): ModuleNames {
  const made = known.get(definition) ?? read(definition);
  known.set(definition, made);
  return made;
}

function read(definition: ModuleDefinition): ModuleNames {
  const { tables, views, reducers, procedures, sourceTypespace: typespace } = definition;
  const named = [
    ...tables.map((table) => [table.sourceName, namedTable(table, typespace)] as const),
    ...views.map((view) => [view.sourceName, namedView(view, typespace)] as const),
  ];
  return {
    tables: new Map(named),
    byName: new Map(named.map(([, table]) => [table.name, table])),
    reducers: new Map(reducers.map((reducer) => [reducer.sourceName, reducer])),
    procedures: new Map(procedures.map((procedure) => [procedure.sourceName, procedure])),
    typespace,
  };
}

function namedTable(table: TableDefinition, typespace: Typespace): NamedTable {
  const rowType = productAt(typespace, table.rowTypeRef);
  const keyAt = (position: number) => present(rowType.elements[position]?.name, 'a column');
  const sets = table.constraints.map(({ columns }) => columns);
  const isKey = (positions: readonly number[]) => {
    return sets.some((set) => set.length === positions.length && isWithin(positions, set));
  };
  return {
    name: table.name,
    rowType,
    columns: columnsOf(rowType, table.columns),
    primaryKey: table.primaryKey === undefined ? undefined : keyAt(table.primaryKey),
    indexes: table.indexes.flatMap(({ accessorName: accessor, columns }) => {
      if (accessor === undefined) return [];
      // Also if each column is unique on its own.
      const isUnique = isKey(columns) || columns.every((at) => isKey([at]));
      return [{ accessor, columns: columns.map(keyAt), isUnique }];
    }),
  };
}

function namedView(view: ViewDefinition, typespace: Typespace): NamedTable {
  const { ref } = present(viewRowOf(view.returnType), 'the row of a view');
  const rowType = productAt(typespace, ref);
  const columns = columnsOf(rowType, view.columns);
  const primaryKey = columns.find(({ name }) => name === view.primaryKey)?.key;
  return { name: view.name, rowType, columns, primaryKey, indexes: [] };
}

function columnsOf(rowType: ProductType, columns: readonly { readonly name: string }[]) {
  return columns.map(({ name }, at) => ({ key: rowType.elements[at]?.name ?? name, name }));
}

function isWithin(positions: readonly number[], set: readonly number[]): boolean {
  return positions.every((position) => set.includes(position));
}

function productAt(typespace: Typespace, ref: number): ProductType {
  const type = typespace.types[ref];
  if (type?.kind !== 'product') throw new TypeError(`type ${ref} is not a row`);
  return type;
}
