import type { TableSpec } from '../schema/catalog.ts';
import type { TableId } from '../schema/ids.ts';
import { computedTables } from '../schema/system-tables.ts';
import type { SlotLayout } from '../sql/expressions/frame.ts';
import type { SqlSchema } from '../sql/schema.ts';
import { RowShape } from '../store/row-shape.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { Typespace } from '../values/type.ts';
import { type SourceKey, sourceOfView } from './source-changes.ts';

/** Tables whose rows are in no change set. */
export const computedIds: ReadonlySet<TableId> = new Set(computedTables.map(({ id }) => id));

/** One version of the schema as live queries see it; what is compiled for a table is shared. */
export class LiveSchema {
  readonly sql: SqlSchema;
  readonly types: Typespace;
  readonly #tables: ReadonlyMap<TableId, TableSpec>;
  readonly #layouts = new Map<TableId, SlotLayout>();

  constructor(sql: SqlSchema) {
    this.sql = sql;
    this.types = { types: sql.types };
    this.#tables = new Map(sql.tables.map((table) => [table.id, table]));
  }

  table(id: TableId): TableSpec | undefined {
    return this.#tables.get(id);
  }

  layoutOf({ id, columns }: TableSpec): SlotLayout {
    const known = this.#layouts.get(id);
    if (known !== undefined) return known;
    const shape = new RowShape(columns, this.types);
    const made = { shape, nullableColumns: columns.map(() => false) };
    this.#layouts.set(id, made);
    return made;
  }

  /** The source of the rows of a table or view for a caller. */
  sourceOf(tableId: TableId, identity: CallerIdentity): SourceKey {
    const view = this.sql.views.get(tableId);
    return view === undefined || view.isAnonymous ? tableId : sourceOfView(view.id, identity);
  }

  /** Whether callers see different rows under this id. */
  isOfCaller(tableId: TableId): boolean {
    return this.sql.views.get(tableId)?.isAnonymous === false;
  }
}
