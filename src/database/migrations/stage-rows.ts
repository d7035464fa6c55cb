import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { MigratedRows, MigrationOutcome } from '../../module/migration-call.ts';
import type { Catalog } from '../../schema/catalog.ts';
import type { PlannedStage } from '../../schema/declared-plan.ts';
import type { TableId } from '../../schema/ids.ts';
import { DraftTable } from '../../store/draft-table.ts';
import { type ConflictError, MigrationError } from '../../store/migrate.ts';
import { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import { continueSequences, oldSpec, sharedTable } from '../../store/table-copies.ts';
import { vectorFaultOf } from '../../store/vector-column.ts';
import { migrationConflict, stepFailure } from './migration-failure.ts';
import { type RowBatch, RowSource } from './row-source.ts';
import type { MadeRows } from './run-bounds.ts';
import type { StageProgram } from './stage-program.ts';

/** Receives what happens to the rows of the tables that are being filled. */
export interface DraftLog {
  added(table: TableId, bytes: Uint8Array, at: number, length: number): void;
  removed(table: TableId, bytes: Uint8Array, at: number, length: number): void;
}

/** Wants to know what some rows give. */
export interface RowSamples {
  wants(table: string): boolean;
  sampled(table: string, before: Uint8Array, gave: ReadonlyMap<string, MigratedRows>): void;
}

/** What a pass over the rows is for. */
export interface StageRowsOptions {
  readonly stage: PlannedStage;
  /** The tables before. */
  readonly before: Store;
  /** The catalog that it leads to. */
  readonly catalog: Catalog;
  readonly program: StageProgram;
  /** Absent: nothing is logged meanwhile. */
  readonly log?: DraftLog | undefined;
  /** Receives what a few rows of each table give. */
  readonly samples?: RowSamples | undefined;
  /** Called again and again with what was made so far; throws where that is too much. */
  readonly grown: (made: MadeRows) => void;
  /** True if commits come in between, so that what a row gives must depend on nothing else. */
  readonly isOnline: boolean;
}

/** The rows of a table depend on more than each row: they are taken while writers are stopped. */
export class NeedsStandstill extends Error {}

/** Fills the tables that the program makes in one stage. Throws `MigrationError`. */
export class StageRows {
  readonly drafts: ReadonlyMap<TableId, DraftTable>;
  readonly sources: readonly RowSource[];
  readonly rowCount: number;
  /** Rows that were taken, those that commits changed included. */
  done = 0;
  readonly #options: StageRowsOptions;
  readonly #draftByName: ReadonlyMap<string, DraftTable>;
  #old: { readonly offset: number; readonly store: Store } | undefined;
  #at = 0;
  readonly #fromBytes: number;
  /** Rows that it may take until it looks whether to go on. */
  #untilLook: number = limits.migrationLookRows;

  constructor(options: StageRowsOptions) {
    this.#options = options;
    const { stage, before, catalog } = options;
    const byName = new Map<string, DraftTable>();
    const drafts = new Map<TableId, DraftTable>();
    const sources: RowSource[] = [];
    for (const planned of stage.tables) {
      if (planned.kind !== 'rewrite') continue;
      const old = present(before.tableByName(planned.before), 'a table that is rewritten');
      sources.push(new RowSource(old));
      for (const name of planned.into) {
        const spec = present(
          catalog.tables.find((table) => table.kind === 'user' && table.name === name),
          'a table that rows go into',
        );
        const draft = byName.get(name) ?? new DraftTable(spec, catalog);
        if (name === planned.after) continueSequences(draft.table, old);
        byName.set(name, draft);
        drafts.set(spec.id, draft);
      }
    }
    this.sources = sources;
    this.drafts = drafts;
    this.#draftByName = byName;
    this.rowCount = sources.reduce((sum, { table }) => sum + table.rowCount, 0);
    this.#fromBytes = sources.reduce((sum, { table }) => sum + table.memory().totalBytes, 0);
  }

  /** Rows that wait because commits changed them. */
  get backlog(): number {
    return this.sources.reduce((sum, source) => sum + source.backlog, 0);
  }

  /** True if all rows were taken once. */
  get isRead(): boolean {
    return this.sources.every(({ isRead }) => isRead);
  }

  /** The table whose rows come next, by its name before. */
  get current(): string {
    return (this.sources[this.#at] ?? this.sources.at(-1))?.table.spec.name ?? '';
  }

  /** Takes one batch; false if there is none. */
  step(rowsMax: number): boolean {
    const { sources } = this;
    for (let tries = 0; tries < sources.length; tries++) {
      const batch = sources[this.#at]?.take(rowsMax);
      if (batch !== undefined) {
        this.#take(batch);
        return true;
      }
      this.#at = (this.#at + 1) % sources.length;
    }
    return false;
  }

  /** Requires that nothing is left, and that no constraint is broken. */
  requireWhole(): void {
    assert(this.isRead && this.backlog === 0, 'all rows of a stage are taken');
    const conflict = this.#conflict();
    if (conflict.conflicts.length > 0) throw conflict;
  }

  #conflict(): ConflictError {
    const conflicts = [...this.drafts.values()].flatMap((draft) => draft.conflicts());
    return migrationConflict(this.#options.stage, conflicts);
  }

  #take(batch: RowBatch): void {
    const { program, samples, isOnline } = this.#options;
    const { table, bytes, starts } = batch;
    const outcome = program.rows(table.spec.name, bytes, starts.length, this.#oldStore());
    if (outcome.kind === 'failed') throw this.#failure(batch, outcome);
    if (outcome.hasRead && isOnline) throw new NeedsStandstill();
    for (const [name, rows] of outcome.tables) this.#takeRows(batch, name, rows);
    this.#look();
    if (!batch.isGone) this.done += starts.length;
    if (samples?.wants(table.spec.name) === true) this.#sample(batch, samples);
    if ([...this.drafts.values()].some(({ isHopeless }) => isHopeless)) throw this.#conflict();
  }

  #look(): void {
    const made = { rowCount: 0, rowBytes: 0, totalBytes: 0, fromBytes: this.#fromBytes };
    for (const { table } of this.drafts.values()) {
      const memory = table.memory();
      made.rowCount += memory.rowCount;
      made.rowBytes += memory.rowBytes;
      made.totalBytes += memory.totalBytes;
    }
    this.#options.grown(made);
    this.#untilLook = limits.migrationLookRows;
  }

  /** By themselves: of a batch it is not known which row gave what. */
  #sample({ table, bytes, starts, isGone }: RowBatch, samples: RowSamples): void {
    const { name } = table.spec;
    for (const [at, start] of starts.entries()) {
      if (isGone || !samples.wants(name)) return;
      const row = bytes.slice(start, starts[at + 1] ?? bytes.length);
      const outcome = this.#options.program.rows(name, row, 1, this.#oldStore());
      if (outcome.kind === 'rows') samples.sampled(name, row, outcome.tables);
    }
  }

  #failure(
    { table, bytes, starts }: RowBatch,
    { step, message, row }: Extract<MigrationOutcome, { kind: 'failed' }>,
  ): MigrationError {
    const start = row === undefined ? undefined : starts[row];
    const place = start === undefined ? undefined : { table, row: bytes.subarray(start) };
    return stepFailure(this.#options.stage, step, message, place);
  }

  #takeRows({ table: from, isGone }: RowBatch, name: string, { rows, count }: MigratedRows): void {
    const draft = this.#draftByName.get(name);
    if (draft === undefined)
      throw this.#wrong(from, `gave rows for table ${name}, which it does not name`);
    let at = 0;
    for (let left = count; left > 0; left--) {
      if (--this.#untilLook <= 0) this.#look();
      const end = draft.table.shape.endOfRow(rows, at, rows.length);
      if (end < 0) throw this.#wrong(from, `gave bytes that are no row of table ${name}`);
      if (isGone) this.#remove(from, draft, rows, at, end - at);
      else this.#add(from, draft, rows, at, end - at);
      at = end;
    }
    if (at !== rows.length) throw this.#wrong(from, `gave bytes that are no row of table ${name}`);
  }

  #add(from: Table, draft: DraftTable, rows: Uint8Array, at: number, length: number): void {
    const { table } = draft;
    if (length > limits.rowBytesMax) throw this.#wrong(from, 'gave a row that is too large');
    const row = rows.subarray(at, at + length);
    if (table.vectors.length > 0) {
      const fault = vectorFaultOf(table.spec, table.shape, table.vectors, row);
      if (fault !== undefined) throw this.#wrong(from, 'gave a vector of another length');
    }
    this.#fillSequences(from, table, row);
    const result = draft.add(rows, at, length);
    if (result === 'full') throw new MigrationError(`Table \`${table.spec.name}\` is too large`);
    if (result === 'added') this.#options.log?.added(table.id, rows, at, length);
  }

  #fillSequences(from: Table, table: Table, row: Uint8Array): void {
    for (const { sequence, column } of table.sequences) {
      const at = table.shape.startOf(row, 0, column);
      if (!sequence.isZeroIn(row, at)) {
        sequence.raise(row, at);
        continue;
      }
      // What a row gave could not be found again.
      if (this.#options.isOnline) throw new NeedsStandstill();
      if (!sequence.advance())
        throw this.#wrong(from, `needs values that ${sequence.spec.name} does not have`);
      sequence.write(row, at);
    }
  }

  #remove(from: Table, draft: DraftTable, rows: Uint8Array, at: number, length: number): void {
    const { log } = this.#options;
    const { table } = draft;
    const result = draft.remove(rows, at, length);
    if (result === 'absent')
      throw this.#wrong(
        from,
        'gave other rows for the same row. Functions of migrations must depend on the row alone',
      );
    if (result !== 'gone') return;
    log?.removed(table.id, rows, at, length);
    for (const row of draft.retry()) log?.added(table.id, row, 0, row.length);
  }

  #wrong(from: Table, message: string): MigrationError {
    return stepFailure(this.#options.stage, `table ${from.spec.name}`, `the program ${message}`);
  }

  /** The old tables for functions that read them, as they are now. */
  #oldStore(): Store {
    const { before } = this.#options;
    if (this.#old?.offset !== before.offset) {
      this.#old = { offset: before.offset, store: oldStoreOf(before) };
    }
    return present(this.#old, 'the old tables').store;
  }
}

/** The tables of a store as `old.NAME`. Valid until one of them is written to. */
export function oldStoreOf(before: Store): Store {
  const { catalog } = before;
  const tables = oldTablesOf(before);
  return Store.of({ ...catalog, tables: tables.map(({ spec }) => spec) }, tables);
}

export function oldTablesOf(before: Store): Table[] {
  return [...before.tables]
    .filter(({ spec }) => spec.kind === 'user')
    .map((table) => sharedTable(table, before.catalog, oldSpec(table.spec)));
}
