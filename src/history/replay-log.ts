import { assert, unreachable } from '../assert.ts';
import { acceptedMicrosOf, decodeInputs } from '../log/decode-record.ts';
import {
  isCommitRecord,
  type LogRecord,
  type MigratedTables,
  type SchemaChange,
  type SchemaRecord,
  type StagedRows,
} from '../log/record.ts';
import type { Catalog } from '../schema/catalog.ts';
import { decodeCatalog } from '../schema/catalog-codec.ts';
import type { TableId } from '../schema/ids.ts';
import type { ReplacedTables } from '../store/migrate.ts';
import { ReplayError } from '../store/replay.ts';
import { StagedTables } from '../store/staged-tables.ts';
import type { Store } from '../store/store.ts';
import { Table } from '../store/table.ts';
import { continueSequences, sharedTable } from '../store/table-copies.ts';
import type { SnapshotLoader } from './load-snapshot.ts';
import type { ReplayedProgram } from './replayed-program.ts';

/**
 * Builds the store from the records of the log, which may continue a snapshot; keeps the last
 * program in them.
 */
export class LogReplay {
  readonly #store: Store;
  readonly #snapshots: SnapshotLoader;
  #program: ReplayedProgram | undefined;
  /** What was made of a record that has not been applied. */
  #coming: { readonly record: SchemaRecord; readonly program: ReplayedProgram } | undefined;
  #lastMicros = 0;
  /** Rows of a migration whose record has not come. */
  #staged: StagedTables | undefined;

  /** Records continue what a snapshot has, if one was loaded. */
  constructor(store: Store, snapshots: SnapshotLoader) {
    this.#store = store;
    this.#snapshots = snapshots;
  }

  /** When the latest commit was accepted. */
  get lastMicros(): bigint {
    const ofRecords = BigInt(this.#lastMicros);
    const ofSnapshot = this.#snapshots.loaded?.place.lastMicros ?? 0n;
    return ofRecords > ofSnapshot ? ofRecords : ofSnapshot;
  }

  apply(record: LogRecord): void {
    if (isCommitRecord(record)) this.#note(acceptedMicrosOf(record.inputs));
    switch (record.kind) {
      case 'commit':
        this.#store.replay(record.changes);
        return;
      case 'schema':
        this.#schema(record);
        return;
      case 'marks':
        this.#store.resumeSequences(record.sequences);
        return;
      case 'staged':
        this.#stage(record.staged);
        return;
      default:
        unreachable(record);
    }
  }

  /** The first record of a run; those of another one, which nothing has named, are dropped. */
  #stage({ run, catalog, tables }: StagedRows): void {
    if (catalog !== undefined) this.#staged = new StagedTables(run, decodeCatalog(catalog));
    // A restored log can begin within a run that was given up.
    if (this.#staged?.run === run) this.#staged.apply(tables);
  }

  /** The program that served last; `undefined`: there was none yet. */
  get program(): ReplayedProgram | undefined {
    return this.#program ?? this.#snapshots.loaded?.program;
  }

  /** The program that a record brings: the same one before it is applied, and after. */
  programOf(record: SchemaRecord): ReplayedProgram {
    if (this.#coming?.record !== record) this.#coming = { record, program: programIn(record) };
    return this.#coming.program;
  }

  #replaced({ run, tables }: MigratedTables, catalog: Catalog): ReplacedTables {
    const specs = new Map(catalog.tables.map((spec) => [spec.id, spec]));
    const made = new Map<TableId, Table>();
    const dropped = new Set<TableId>();
    for (const { tableId, isStaged } of tables) {
      const spec = specs.get(tableId);
      if (spec === undefined) {
        dropped.add(tableId);
        continue;
      }
      if (isStaged && this.#staged?.run !== run) {
        throw new ReplayError(
          `the rows of table ${spec.name} that the migration names are missing`,
        );
      }
      const table = isStaged ? this.#staged?.take(tableId) : undefined;
      const whole =
        table === undefined ? new Table(spec, catalog) : sharedTable(table, catalog, spec);
      continueSequences(whole, this.#store.table(tableId));
      made.set(tableId, whole);
    }
    return { tables: made, dropped };
  }

  #note(micros: number): void {
    if (micros > this.#lastMicros && Number.isSafeInteger(micros)) this.#lastMicros = micros;
  }

  #schema(record: SchemaRecord): void {
    const { schema, migration, changes, offset } = record;
    const catalog = decodeCatalog(schema.catalog);
    const replaced = migration && this.#replaced(migration, catalog);
    this.#staged = undefined;
    const applied = this.#store.prepareMigration(catalog, defaultsOf(schema), replaced).apply();
    if (changes !== undefined) this.#store.replayJoined(changes);
    assert(applied === offset, `the schema change of ${offset} is at another offset`);
    this.#program = this.programOf(record);
    this.#coming = undefined;
  }
}

function programIn({ schema, inputs, offset }: SchemaRecord): ReplayedProgram {
  return {
    source: { kind: schema.programKind, bytes: schema.program.slice() },
    described: schema.definition.slice(),
    publishedMicros: decodeInputs(inputs).timestampMicros,
    offset,
  };
}

function defaultsOf({ defaults }: SchemaChange): Map<TableId, Uint8Array[]> {
  const byTable = new Map<TableId, Uint8Array[]>();
  for (const { tableId, value } of [...defaults].sort((a, b) => a.column - b.column)) {
    const values = byTable.get(tableId) ?? [];
    values.push(value.slice());
    byTable.set(tableId, values);
  }
  return byTable;
}
