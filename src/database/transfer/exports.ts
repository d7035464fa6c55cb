import { limits } from '../../limits.ts';
import { positionText } from '../../log/position-text.ts';
import { SqlFailure } from '../../sql/failure.ts';
import { isVisible } from '../../sql/rights.ts';
import type { Table } from '../../store/table.ts';
import { PinRevokedError } from '../../store/table-pin.ts';
import { type CallerKey, callerKeyOf } from '../caller-key.ts';
import type { DatabaseCore } from '../core.ts';
import type { Caller } from '../outcome.ts';
import type { Program } from '../program.ts';
import { isReadable } from '../readable.ts';
import type { Ticket } from '../ticket.ts';
import type { DatabaseReply, TurnResult } from '../turn.ts';
import type { ExportAsk, ExportError, ExportOutcome } from './export-ask.ts';
import { type ExportSource, FilteredSource, PinnedSource } from './export-source.ts';

/**
 * The exports of one database: each keeps the rows of its tables as they were at one moment between
 * turns, when all records were written, and hands them out in blocks, one for each time it is
 * asked, within a slice of time. So it costs nothing while its client is slow.
 */
export class Exports {
  readonly #core: DatabaseCore;
  readonly #running = new Map<number, RunningExport>();
  #lastId = 0;
  /** Those that begin after this turn. */
  #beginning: { readonly ticket: Ticket; readonly caller: Caller; readonly ask: Begin }[] = [];

  constructor(core: DatabaseCore) {
    this.#core = core;
  }

  /** Answers at once, or with `begin`. */
  answer(ticket: Ticket, caller: Caller, ask: ExportAsk): DatabaseReply | undefined {
    switch (ask.kind) {
      case 'begin':
        this.#beginning.push({ ticket, caller, ask });
        return undefined;
      case 'read':
        return replyOf(this.#read(ask.id));
      case 'end':
        this.#end(ask.id);
        return replyOf({ kind: 'ended' });
    }
  }

  /** Begins those that were asked for, once the records of the turn are written. */
  begin(): readonly TurnResult[] {
    if (this.#beginning.length === 0) return noResults;
    const beginning = this.#beginning;
    this.#beginning = [];
    return beginning.map(({ ticket, caller, ask }) => {
      return { ticket, reply: replyOf(this.#begin(caller, ask)) };
    });
  }

  #begin(caller: Caller, { tables: names }: Begin): ExportOutcome {
    const { store, log, clock, program } = this.#core;
    this.#forget();
    const key = callerKeyOf(caller);
    const busy = this.#fullFor(key);
    if (busy !== undefined) return failed('export.tooMany', busy);
    const chosen = chosenTables(this.#core, caller, names);
    if ('code' in chosen) return { kind: 'failed', error: chosen };
    const sources: ExportSource[] = [];
    try {
      for (const table of chosen) sources.push(sourceOf(this.#core, caller, table));
    } catch (error) {
      for (const source of sources) source.release();
      return { kind: 'failed', error: errorOf(error) };
    }
    const id = ++this.#lastId;
    const { rowsMax } = caller.rights;
    const readAt = clock.monotonicMillis();
    this.#running.set(id, { key, sources, at: 0, program, rowCount: 0, rowsMax, readAt });
    return {
      kind: 'begun',
      id,
      position: positionText(log.snapshotPlace(clock.nowMicros())),
      programHash: program.hash,
      tables: chosen.map(({ spec }) => ({
        name: spec.name,
        columns: spec.columns.map(({ name, type }) => ({ name, type })),
      })),
      types: { types: store.catalog.types },
    };
  }

  #fullFor(key: CallerKey): string | undefined {
    const { exportsMax, callerExportsMax } = limits;
    const own = [...this.#running.values()].filter((one) => one.key === key).length;
    const advice = 'try again when one of them has ended';
    if (own >= callerExportsMax) return `${own} of your exports are running already; ${advice}`;
    if (this.#running.size < exportsMax) return undefined;
    return `${exportsMax} exports of this database are running already; ${advice}`;
  }

  #read(id: number): ExportOutcome {
    const running = this.#running.get(id);
    if (running === undefined) return failed('export.stopped', goneText);
    try {
      const outcome = this.#readSome(running);
      if (outcome.kind === 'failed' || outcome.isLast) this.#end(id);
      return outcome;
    } catch (error) {
      this.#end(id);
      if (running.program !== this.#core.program) return failed('export.stopped', updatedText);
      return { kind: 'failed', error: errorOf(error) };
    }
  }

  #readSome(running: RunningExport): ReadOutcome {
    const { clock } = this.#core;
    running.readAt = clock.monotonicMillis();
    const { at: table, sources } = running;
    const source = sources[table];
    if (source === undefined) return { kind: 'rows', table, rows: none, count: 0, isLast: true };
    const end = clock.monotonicMillis() + limits.exportSliceMillisMax;
    const { rows, count, isDone } = source.read(() => clock.monotonicMillis() >= end);
    running.rowCount += count;
    const { rowsMax } = running;
    if (rowsMax !== undefined && running.rowCount > rowsMax) {
      return failed('export.limited', `An export with this token has at most ${rowsMax} rows`);
    }
    if (isDone) {
      source.release();
      running.at += 1;
    }
    return { kind: 'rows', table, rows, count, isLast: running.at === sources.length };
  }

  /** Ends those that nobody has asked for long after a client would have been given up. */
  #forget(): void {
    const now = this.#core.clock.monotonicMillis();
    for (const [id, { readAt }] of this.#running) {
      if (now - readAt > 2 * limits.exportIdleMillisMax) this.#end(id);
    }
  }

  #end(id: number): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    for (const source of running.sources) source.release();
  }
}

type Begin = Extract<ExportAsk, { kind: 'begin' }>;
type ReadOutcome = Extract<ExportOutcome, { kind: 'rows' | 'failed' }>;

interface RunningExport {
  readonly key: CallerKey;
  readonly program: Program;
  readonly sources: readonly ExportSource[];
  /** Position of the source that is read. */
  at: number;
  rowCount: number;
  /** When it was last asked for rows. */
  readAt: number;
  readonly rowsMax: number | undefined;
}

const none = new Uint8Array(0);
const noResults: readonly TurnResult[] = [];

const goneText = 'The database was opened again while it was exported; export it again';
const updatedText = 'The program was updated while the database was exported; export it again';

function replyOf(outcome: ExportOutcome): DatabaseReply {
  return { kind: 'exported', outcome };
}

function failed(code: ExportError['code'], message: string) {
  return { kind: 'failed', error: { code, message } } as const;
}

function errorOf(error: unknown): ExportError {
  if (error instanceof PinRevokedError) {
    const message = `More rows changed while the database was exported than memory is kept for`;
    return { code: 'export.stopped', message: `${message}; export fewer tables, or try again` };
  }
  if (!(error instanceof SqlFailure)) throw error;
  return { code: 'export.limited', message: error.error.message };
}

/** The tables of these names, or all that the caller can read, by ascending name. */
function chosenTables(
  { store, program }: DatabaseCore,
  { rights }: Caller,
  names: readonly string[] | undefined,
): Table[] | ExportError {
  const visible = [...store.tables].filter(
    ({ spec }) => spec.kind === 'user' && isVisible(spec, rights),
  );
  visible.sort((one, other) => (one.spec.name < other.spec.name ? -1 : 1));
  if (names === undefined) return visible.filter(({ spec }) => !spec.isEvent);
  const chosen = new Set<Table>();
  for (const name of names) {
    const table = visible.find(({ spec }) => spec.name === name);
    if (table !== undefined && !table.spec.isEvent) {
      chosen.add(table);
      continue;
    }
    const view = program.sql.views.size > 0 && isVisibleView(program, name, rights);
    if (table !== undefined || view) {
      const what = table === undefined ? 'a view' : 'an event table';
      const message = `\`${name}\` is ${what}, which has no rows of its own to export`;
      return { code: 'export.noRows', message };
    }
    const message = `no such table: \`${name}\`. If the table exists, it may be marked private.`;
    return { code: 'export.noTable', message };
  }
  return [...chosen];
}

function isVisibleView({ sql }: Program, name: string, rights: Caller['rights']): boolean {
  const view = sql.tables.find((table) => table.name === name && sql.views.has(table.id));
  return view !== undefined && isVisible(view, rights);
}

/** A row filter, and a limit on rows, are left to the statement that reads all that may be seen. */
function sourceOf(core: DatabaseCore, caller: Caller, table: Table): ExportSource {
  const { rights } = caller;
  const isWhole = rights.exceedsRowLimit && isReadable(core.program.sql, rights, table);
  return isWhole ? new PinnedSource(table) : new FilteredSource(core, caller, table);
}
