import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { CommitLog } from '../../log/commit-log.ts';
import type { ColumnDefault, MigratedTables } from '../../log/record.ts';
import type { Catalog } from '../../schema/catalog.ts';
import { encodeCatalog } from '../../schema/catalog-codec.ts';
import type { TableId } from '../../schema/ids.ts';
import type { SequenceMark, TableChange } from '../../store/change-set.ts';
import type { Migration } from '../../store/migrate.ts';
import { noRow } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import { RowBytes, StagedWriter } from './staged-writer.ts';
import type { Workshop } from './workshop.ts';

/** A migration whose tables are complete beside those that serve. */
export interface PreparedMigration {
  readonly catalog: Catalog;
  /** For the record: defaults of columns added to tables that are kept. */
  readonly defaults: readonly ColumnDefault[];
  readonly tables: MigratedTables;
  readonly changes: readonly TableChange[];
  readonly sequences: readonly SequenceMark[];
  /** Tables whose rows are not those from before, by their ids afterwards; dropped ones too. */
  readonly rewritten: ReadonlySet<TableId>;
  /** Bytes of the rows of all tables of the module afterwards. */
  readonly rowBytes: number;
  /** Swaps the tables. */
  readonly migration: Migration;
}

/**
 * What a workshop has made, ready to be swapped in and written as one record. `run`: the staged
 * rows that are in the log. Rows that are too many for the record are staged now.
 */
export function preparedMigration(
  workshop: Workshop,
  serving: Store,
  log: CommitLog,
  run: number,
): PreparedMigration {
  const { store, states } = workshop;
  const { catalog } = store;
  const tables = new Map<TableId, Table>();
  const sequences: SequenceMark[] = [];
  for (const table of store.tables) {
    if (table.spec.kind !== 'user') continue;
    tables.set(table.id, table);
    const isKept = states.get(table.id)?.kind === 'kept';
    const before = new Map(
      serving.table(table.id)?.sequences.map(({ sequence: { spec, last } }) => [spec.id, last]),
    );
    for (const { sequence } of table.sequences) {
      const { spec, last } = sequence;
      if (last === undefined || (isKept && before.get(spec.id) === last)) continue;
      sequences.push({ id: spec.id, value: last });
    }
  }
  const dropped = new Set<TableId>();
  for (const { id, spec } of serving.tables) {
    if (spec.kind === 'user' && !tables.has(id)) dropped.add(id);
  }
  const rows = loggedRows(workshop, log, run);
  const rewritten = new Set([...dropped, ...madeIds(workshop)]);
  const named = [...rewritten]
    .filter((id) => rows.staged.has(id) || serving.table(id) !== undefined)
    .map((id) => ({ tableId: id, isStaged: rows.staged.has(id) }));
  const migration = serving.prepareMigration(catalog, new Map(), { tables, dropped });
  const defaults = keptDefaults(workshop, serving);
  const migrated = { run: rows.staged.size === 0 ? 0 : rows.run, tables: named };
  const { changes } = rows;
  const { rowBytes } = workshop;
  const parts = { changes, sequences, rewritten, rowBytes, migration };
  return { catalog, defaults, tables: migrated, ...parts };
}

function* madeIds({ store, states }: Workshop): Generator<TableId> {
  for (const { id, spec } of store.tables) {
    if (spec.kind === 'user' && states.get(id)?.kind !== 'kept') yield id;
  }
}

function keptDefaults({ store, states }: Workshop, serving: Store): ColumnDefault[] {
  return [...store.tables].flatMap(({ id }) => {
    const first = serving.table(id)?.spec.columns.length ?? 0;
    const values = states.get(id)?.defaults ?? [];
    return values.map((value, at) => ({ tableId: id, column: first + at, value }));
  });
}

interface LoggedRows {
  readonly run: number;
  readonly staged: ReadonlySet<TableId>;
  readonly changes: readonly TableChange[];
}

function loggedRows(workshop: Workshop, log: CommitLog, run: number): LoggedRows {
  const { store, states } = workshop;
  const ids = [...madeIds(workshop)];
  const made = ids.filter((id) => states.get(id)?.kind === 'made');
  const isLarge = bytesOf(store, made) > limits.migrationInlineBytes;
  const changes: TableChange[] = [];
  for (const { id, spec } of store.tables) {
    if (spec.kind !== 'user' || (isLarge && states.get(id)?.kind !== 'kept')) continue;
    changes.push(...(states.get(id)?.changes ?? []));
  }
  if (isLarge) return { ...stageAgain(workshop, log, ids), changes };
  for (const id of made) {
    const table = present(store.table(id), 'a table that was made');
    if (table.rowCount > 0) changes.push(wholeTable(table));
  }
  const staged = new Set(ids.filter((id) => states.get(id)?.kind === 'staged'));
  return { run, staged, changes };
}

/** One run has all rows, since a record names one. */
function stageAgain({ store }: Workshop, log: CommitLog, ids: readonly TableId[]) {
  const writer = new StagedWriter(log, encodeCatalog(store.catalog));
  for (const id of ids) {
    const table = present(store.table(id), 'a table that was made');
    forEachRow(table, (bytes, at, length) => {
      if (writer.added(id, bytes, at, length)) log.write();
    });
  }
  writer.flush();
  log.write();
  return { run: writer.run, staged: new Set(ids) };
}

function wholeTable(table: Table): TableChange {
  const rows = new RowBytes();
  forEachRow(table, (bytes, at, length) => rows.add(bytes, at, length));
  const deletes = { count: 0, bytes: new Uint8Array(0) };
  return { tableId: table.id, inserts: rows.list(), deletes, truncated: false };
}

function forEachRow(
  table: Table,
  visit: (bytes: Uint8Array, at: number, length: number) => void,
): void {
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    visit(table.pageOf(ref), table.offsetOf(ref), table.lengthOf(ref));
  }
}

function bytesOf(store: Store, ids: readonly TableId[]): number {
  return ids.reduce((sum, id) => sum + (store.table(id)?.heap.usedBytes ?? 0), 0);
}
