import type { ReadResult } from '../sql/run/results.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { DatabaseCore } from './core.ts';
import type { Caller, CommitOffset, SqlError, SqlOutcome, SqlRequest, SqlRows } from './outcome.ts';
import type { ReadRun } from './read-run.ts';
import { leave } from './run-call.ts';
import { readErrorOf, sqlErrorOf } from './statement-error.ts';

/** The caller of a statement, and when it was accepted. */
export interface AskedQuery {
  readonly query: SqlRequest;
  readonly acceptedMicros: bigint;
}

/** A write under way: others run until it has found what to change, then it commits in one go. */
export interface WriteRun extends Pick<ReadRun, 'run' | 'dispose'> {
  readonly kind: 'write';
  /** True while its transaction is open, when a bug ends the database. */
  readonly isWriting: boolean;
  /** Called once it is done. */
  result(): SqlRows & { readonly offset: CommitOffset };
  /** Drops all that it has found; it searches again when it next runs. */
  startAgain(): void;
}

/** A statement under way. */
export type StatementRun = ReadRun | WriteRun;

/**
 * A statement within its connection, which stays until the statement is over. Others may write
 * between two calls of `resume`.
 */
export class PausedQuery {
  readonly kind = 'paused';
  readonly #core: DatabaseCore;
  readonly #asked: AskedQuery;
  readonly #run: StatementRun;
  /** The commit whose rows a read sees. */
  readonly #offset: CommitOffset;
  /** Total running time. */
  #millis: number;

  /** `millis` is the time it took to create the run. */
  constructor(core: DatabaseCore, asked: AskedQuery, run: StatementRun, millis: number) {
    this.#core = core;
    this.#asked = asked;
    this.#run = run;
    this.#offset = core.store.offset;
    this.#millis = millis;
  }

  get caller(): Caller {
    return this.#asked.query.caller;
  }

  /** The connection, if it exists for this statement alone. */
  get connectionId(): ConnectionNumber | undefined {
    const { connection } = this.#asked.query;
    return connection.kind === 'temporary' ? connection.id : undefined;
  }

  /** True when its last slice can commit something. */
  get isWrite(): boolean {
    return 'kind' in this.#run;
  }

  /** Runs one slice. Returns the outcome if it was the last; the connection is then closed. */
  resume(): SqlOutcome | undefined {
    const { clock } = this.#core;
    const startedAt = clock.monotonicMillis();
    try {
      const step = this.#run.run();
      this.#millis += clock.monotonicMillis() - startedAt;
      return step === 'paused' ? undefined : this.#finish();
    } catch (error) {
      this.#millis += clock.monotonicMillis() - startedAt;
      return this.end(this.#errorOf(error));
    }
  }

  /** Ends it prematurely. */
  end(error: SqlError): SqlOutcome {
    this.#leave();
    return { kind: 'failed', error, micros: this.#micros };
  }

  /** For a write that has to wait: it holds nothing until it is resumed. */
  startAgain(): void {
    if ('kind' in this.#run) this.#run.startAgain();
  }

  /** Releases what it holds and does nothing else: the database writes no more. */
  abandon(): void {
    this.#run.dispose();
  }

  #errorOf(error: unknown): SqlError {
    const run = this.#run;
    if ('kind' in run && run.isWriting) return sqlErrorOf(error);
    return readErrorOf(this.#core, error);
  }

  #finish(): SqlOutcome {
    const run = this.#run;
    const result = 'kind' in run ? run.result() : this.#read(run.result());
    this.#leave();
    const tables = 'tables' in run ? { tables: run.tables } : undefined;
    return { kind: 'result', ...result, ...tables, micros: this.#micros };
  }

  #read({ columns, types, rows, rowCount }: ReadResult): SqlRows & { offset: CommitOffset } {
    const none = { inserted: 0, deleted: 0, updated: 0 };
    return { columns, types, rows, rowCount, ...none, offset: this.#offset };
  }

  get #micros(): number {
    return Math.round(this.#millis * 1000);
  }

  #leave(): void {
    this.#run.dispose();
    const { query, acceptedMicros } = this.#asked;
    leave(this.#core, query, acceptedMicros);
  }
}
