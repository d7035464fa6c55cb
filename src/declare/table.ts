import type { IndexAlgorithm } from './builder.ts';
import { type AnyBuilder, columnOf, shapeOf } from './builder.ts';
import { columnsOf, type RowBuilder, rowOf } from './composite.ts';
import type { Columns, TraitsOf } from './infer.ts';

/** An index over one or more columns; `accessor` is its property on the table handle. */
export type IndexEntry<ColumnName extends string = string> =
  | {
      readonly accessor: string;
      /** The index's own name, shown in SQL errors and plans. */
      readonly name?: string;
      readonly algorithm: 'btree' | 'hash';
      readonly columns: readonly ColumnName[];
    }
  | {
      readonly accessor: string;
      readonly name?: string;
      /** For dense small integers and plain enums. */
      readonly algorithm: 'direct';
      readonly column: ColumnName;
    };

export interface UniqueEntry<ColumnName extends string = string> {
  readonly constraint: 'unique';
  readonly columns: readonly ColumnName[];
  readonly name?: string;
}

export interface TableOptions<ColumnName extends string = string> {
  /** Name in SQL and on the wire; defaults to the table's key in `schema`, in snake case. */
  readonly name?: string;
  /** True: clients can read the table. */
  readonly public?: boolean;
  readonly indexes?: readonly IndexEntry<ColumnName>[];
  readonly constraints?: readonly UniqueEntry<ColumnName>[];
  /** True: rows are sent to subscribers once and not kept. */
  readonly event?: boolean;
  /** The function that the rows of this table schedule. `onSchedule` is the newer form. */
  readonly scheduled?: () => unknown;
}

export declare const optionsType: unique symbol;

/** A table as declared: columns, keys and indexes. `schema` gives it its name. */
export interface TableSchema<C extends Columns, Options extends TableOptions> {
  readonly [optionsType]: Options;
  /** The row as a type, for parameters, views and other types. */
  readonly rowType: RowBuilder<C>;
  /** The `name` option. */
  readonly tableName: string | undefined;
  readonly idxs: readonly TableIndex[];
  readonly constraints: readonly TableConstraint[];
  /** Position of the column that says when a row is due. */
  readonly scheduleAtCol: number | undefined;
}

export type AnyTable = TableSchema<any, any>;

export interface TableIndex {
  readonly accessor: string;
  readonly name: string | undefined;
  readonly algorithm: IndexAlgorithm;
  readonly columns: readonly string[];
  /** A unique constraint covers exactly these columns. */
  readonly isUnique: boolean;
  /**
   * Lookups by this index give one row or none: `isUnique`, or each column is unique on its own.
   */
  readonly isSingleRow: boolean;
  readonly isPrimaryKey: boolean;
}

export interface TableConstraint {
  readonly columns: readonly string[];
  readonly name: string | undefined;
}

/** Columns with a default that must be unique: existing rows could not all have the same value. */
type DefaultConflict<C extends Columns> = {
  [Key in keyof C & string]: TraitsOf<C[Key]> extends { default: true }
    ? TraitsOf<C[Key]> extends { primaryKey: true } | { unique: true } | { autoInc: true }
      ? Key
      : never
    : never;
}[keyof C & string];

export interface DefaultOnKeyColumn<ColumnName> {
  readonly error: 'a column with a default cannot be primaryKey, unique or autoInc';
  readonly column: ColumnName;
}

/**
 * Declares a table. Nothing exists until the table is part of a `schema`.
 *
 * @example
 * ```ts
 * const line = table(
 *   {
 *     public: true,
 *     indexes: [{ accessor: 'byRoom', algorithm: 'btree', columns: ['room', 'sentAt'] }],
 *   },
 *   {
 *     id: t.u64().primaryKey().autoInc(),
 *     room: t.string(),
 *     sentAt: t.timestamp(),
 *     text: t.string(),
 *   },
 * );
 * ```
 */
export function table<C extends Columns, const Options extends TableOptions<keyof C & string>>(
  options: Options,
  columns: C | RowBuilder<C>,
  ..._error: [DefaultConflict<C>] extends [never] ? [] : [DefaultOnKeyColumn<DefaultConflict<C>>]
): TableSchema<C, Options> {
  const made = new DeclaredTable(options, rowOf(columns));
  return made as unknown as TableSchema<C, Options>;
}

/** The result of `table`. The engine checks the definition when it is published. */
export class DeclaredTable {
  readonly options: TableOptions;
  readonly rowType: RowBuilder<Columns>;

  constructor(options: TableOptions, rowType: RowBuilder<any>) {
    this.options = options;
    this.rowType = rowType;
    for (const entry of options.indexes ?? []) {
      if (typeof entry.accessor !== 'string' || entry.accessor === '') {
        const [index, name] = [entry.name ?? '<unnamed>', options.name ?? '<unnamed>'];
        throw new TypeError(
          `Index '${index}' on table '${name}' must define a non-empty 'accessor'`,
        );
      }
    }
  }

  get tableName(): string | undefined {
    return this.options.name;
  }

  get columns(): Columns {
    return columnsOf(this.rowType);
  }

  /** Indexes of columns in column order, then those of the options. */
  get idxs(): TableIndex[] {
    const indexes: TableIndex[] = [];
    for (const [column, builder] of Object.entries(this.columns)) {
      const { index, unique, primaryKey } = columnOf(builder).traits;
      if (index ?? unique ?? primaryKey) {
        indexes.push(this.#index(column, undefined, index ?? 'btree', [column]));
      }
    }
    for (const entry of this.options.indexes ?? []) {
      const columns = entry.algorithm === 'direct' ? [entry.column] : entry.columns;
      indexes.push(this.#index(entry.accessor, entry.name, entry.algorithm, columns));
    }
    return indexes;
  }

  get constraints(): TableConstraint[] {
    const constraints: TableConstraint[] = [];
    for (const [column, builder] of Object.entries(this.columns)) {
      if (isKey(builder)) constraints.push({ columns: [column], name: undefined });
    }
    for (const { columns, name } of this.options.constraints ?? []) {
      constraints.push({ columns, name });
    }
    return constraints;
  }

  /** The last column of that type, if there are several. */
  get scheduleAtCol(): number | undefined {
    const families = Object.values(this.columns).map((b) => shapeOf(columnOf(b).type).family);
    const position = families.lastIndexOf('ScheduleAt');
    return position < 0 ? undefined : position;
  }

  #index(
    accessor: string,
    name: string | undefined,
    algorithm: IndexAlgorithm,
    columns: readonly string[],
  ): TableIndex {
    const builders = columns.map((column) => this.columns[column]);
    const isUnique = this.constraints.some((constraint) => sameSet(constraint.columns, columns));
    return {
      accessor,
      name,
      algorithm,
      columns,
      isUnique,
      isSingleRow: isUnique || builders.every((b) => b !== undefined && isKey(b)),
      isPrimaryKey: columns.length === 1 && isPrimaryKey(builders[0]),
    };
  }
}

export function isPrimaryKey(builder: AnyBuilder | undefined): boolean {
  return builder !== undefined && columnOf(builder).traits.primaryKey === true;
}

/** True if the column is unique on its own. */
function isKey(builder: AnyBuilder): boolean {
  const { unique, primaryKey } = columnOf(builder).traits;
  return unique === true || primaryKey === true;
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const set = new Set(a);
  return set.size === new Set(b).size && b.every((item) => set.has(item));
}
