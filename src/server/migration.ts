import type { DeclaredStep } from '../schema/declared-step.ts';
import type { Timestamp } from '../values/timestamp.ts';
import type { NewTables, OldTables } from './migration-tables.ts';

/** Rows of tables whose types are not given. */
// A file that names no types is checked loosely, as plain JavaScript would be.
export type LooseTables = Readonly<Record<string, any>>;

/** What functions of steps get besides a row. */
export interface MigrationMoment {
  /** When the migration runs: the same for all rows. */
  readonly timestamp: Timestamp;
}

/** What `mapRows` and `splitTable` get as the second argument, if they take one. */
export interface MigrationReader<Before> extends MigrationMoment {
  /** The tables as they were before the migration. */
  readonly old: OldTables<Before>;
}

/** What `run` works on. */
export interface MigrationTx<Before, After> extends MigrationReader<Before> {
  /** The tables as the steps before have left them; what is written to them stays. */
  readonly new: NewTables<After>;
}

/** What a check looks at: `run`'s tables, which it cannot write. */
export interface MigrationCheck<Before, After> extends MigrationReader<Before> {
  readonly new: OldTables<After>;
}

/** One step of a migration, made by the methods of `MigrationSteps`. */
export interface Step {
  readonly step: DeclaredStep;
}

/** A step with its functions, as the program runs it. */
export interface RunnableStep extends Step {
  readonly run?: StepFunction;
  /** Of a split: by table. */
  readonly into?: Readonly<Record<string, StepFunction>>;
}

// Functions are stored and called as the step says; their types are the user's.
export type StepFunction = (...args: any[]) => unknown;

type TableName<Before> = (keyof Before & string) | (string & {});

/** The row of a table before the migration; any row where the name is a new one. */
type OldRow<Before, Table> = Table extends keyof Before ? Before[Table] : any;

type NewRow<After, Table> = Table extends keyof After ? Partial<After[Table]> : object;

type RowFunction<Before, Table, Result> = (
  old: OldRow<Before, Table>,
  at: MigrationMoment,
) => Result;

type RowsFunction<Before, Table, Row> = (
  old: OldRow<Before, Table>,
  read: MigrationReader<Before>,
) => Row | readonly Row[] | undefined;

/** Makes the steps of a migration. Steps take effect one after the other. */
export interface MigrationSteps<Before, After> {
  renameTable(from: TableName<Before>, to: string): Step;
  renameColumn(table: TableName<Before>, from: string, to: string): Step;
  /** Removes a table that has rows. */
  dropTable(table: TableName<Before>, options: { readonly rows: 'discard' }): Step;
  dropColumn(table: TableName<Before>, column: string): Step;
  /** Adds a column behind the others. Its type is that of the module. */
  addColumn<Table extends TableName<Before>>(
    table: Table,
    column: string,
    options: { readonly fill: RowFunction<Before, Table, unknown> },
  ): Step;
  /** Gives a column the type that it has in the module. */
  changeColumn<Table extends TableName<Before>>(
    table: Table,
    column: string,
    options: { readonly using: RowFunction<Before, Table, unknown> },
  ): Step;
  /** `order` lists all columns. */
  moveColumns(table: TableName<Before>, order: readonly string[]): Step;
  /**
   * Makes whole rows: of each row before one, several or none. Columns with a default or
   * `.autoInc()` can be left out. A function that takes a second argument can read other tables.
   */
  mapRows<Table extends TableName<Before>>(
    table: Table,
    rows: RowsFunction<Before, Table, NewRow<After, Table>>,
  ): Step;
  /** Makes rows of several new tables, one of which can have the table's own name. */
  splitTable<Table extends TableName<Before>>(
    table: Table,
    options: { readonly into: Readonly<Record<string, RowsFunction<Before, Table, object>>> },
  ): Step;
  /** Does anything else, once all rows have gone through the steps before it. */
  run(body: (tx: MigrationTx<Before, After>) => void): Step;
  /**
   * Refuses the migration where something does not hold: a query whose one row has one true column,
   * or a function that returns true. `text` says what should.
   */
  assert(check: string | ((tx: MigrationCheck<Before, After>) => boolean), text: string): Step;
}

/** A migration, the default export of a file of `migrations/`. */
export interface MigrationOptions<Before, After> {
  /** The name of the file without its ending. */
  readonly id: string;
  /** The hash of the schema that it starts from, as in the file beside it. */
  readonly from: string;
  readonly steps: (m: MigrationSteps<Before, After>) => readonly Step[];
  /** The way back, for a roll back to a program from before it: `old` is then the row after it. */
  readonly down?: (m: MigrationSteps<After, Before>) => readonly Step[];
}

/** The key under which a migration has what it was made of. */
export const migrationKey: unique symbol = Symbol.for('reducerdb.migration.v1');

export interface Migration {
  readonly [migrationKey]: {
    readonly id: string;
    readonly from: string;
    readonly steps: readonly RunnableStep[];
    readonly down: readonly RunnableStep[] | undefined;
  };
}

/**
 * Declares what a publish does to rows when the schema changes in a way that the service cannot
 * know. `Before` gives the types of rows before, by table; `reducerdb migrate new` writes them.
 * Functions see rows and a timestamp, and depend on nothing else.
 *
 * @example
 * ```ts
 * interface Before {
 *   user: { id: bigint; name: string; age: string };
 * }
 *
 * export default migration<Before>({
 *   id: '0003-ages-are-numbers',
 *   from: 'c0ffee',
 *   steps: (m) => [
 *     m.renameColumn('user', 'name', 'fullName'),
 *     m.changeColumn('user', 'age', { using: (old) => Number(old.age) }),
 *     m.assert('SELECT COUNT(*) = 0 FROM user WHERE age > 150', 'ages are those of people'),
 *   ],
 * });
 * ```
 */
export function migration<Before extends object = LooseTables, After extends object = LooseTables>(
  options: MigrationOptions<Before, After>,
): Migration {
  const { id, from, steps, down } = options;
  const made = {
    id,
    from,
    steps: stepsOf(id, steps(builder)),
    down: down === undefined ? undefined : stepsOf(id, down(builder)),
  };
  return Object.freeze({ [migrationKey]: Object.freeze(made) });
}

function stepsOf(id: string, steps: readonly Step[]): readonly RunnableStep[] {
  if (Array.isArray(steps) && steps.every((step) => step?.step?.kind !== undefined)) return steps;
  throw new TypeError(`migration ${id}: steps must return a list of m.… calls`);
}

/** Types are those of the interface: here every table and every row is as good as another. */
const builder: MigrationSteps<any, any> = {
  renameTable: (from, to) => ({ step: { kind: 'renameTable', from, to } }),
  renameColumn: (table, from, to) => ({ step: { kind: 'renameColumn', table, from, to } }),
  dropTable(table, options) {
    if (options?.rows !== 'discard') {
      throw new TypeError(`m.dropTable('${table}') removes rows: say { rows: 'discard' }`);
    }
    return { step: { kind: 'dropTable', table } };
  },
  dropColumn: (table, column) => ({ step: { kind: 'dropColumn', table, column } }),
  addColumn(table, column, { fill }) {
    const step = { kind: 'addColumn', table, column } as const;
    return withFunction(step, 'fill', fill);
  },
  changeColumn(table, column, { using }) {
    const step = { kind: 'changeColumn', table, column } as const;
    return withFunction(step, 'using', using);
  },
  moveColumns: (table, order) => ({ step: { kind: 'moveColumns', table, order: [...order] } }),
  mapRows(table, rows) {
    const step = { kind: 'mapRows', table, reads: reads(rows) } as const;
    return withFunction(step, 'the second argument', rows);
  },
  splitTable(table, { into }) {
    const step = {
      kind: 'splitTable',
      table,
      into: Object.keys(into),
      reads: Object.values(into).some(reads),
    } as const;
    for (const rows of Object.values(into)) withFunction(step, 'each table of into', rows);
    return { step, into } as RunnableStep;
  },
  run: (body) => withFunction({ kind: 'run' }, 'its argument', body),
  assert(check, text) {
    if (typeof text !== 'string') throw new TypeError('m.assert takes a text that says what holds');
    if (typeof check === 'string') return { step: { kind: 'assert', text, sql: check } };
    const step = { kind: 'assert', text, sql: undefined } as const;
    return withFunction(step, 'its first argument', check);
  },
};

/** A function that takes what it can read with, and so may read. */
function reads(rows: unknown): boolean {
  return typeof rows === 'function' && rows.length > 1;
}

function withFunction(step: DeclaredStep, what: string, run: unknown): RunnableStep {
  if (typeof run === 'function') return { step, run: run as StepFunction };
  throw new TypeError(`m.${step.kind}: ${what} must be a function`);
}
