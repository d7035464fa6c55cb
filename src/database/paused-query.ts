import type { ReadResult } from '../sql/run/execution.ts';
import type { DatabaseCore } from './core.ts';
import type { Caller, CommitOffset, SqlError, SqlOutcome, SqlRequest, SqlRows } from './outcome.ts';
import type { ReadExecution } from './read-execution.ts';
import { leave } from './run-call.ts';
import { readErrorOf, sqlErrorOf } from './statement-error.ts';

/** Who asked for a statement, and when. */
export interface AskedQuery {
  readonly query: SqlRequest;
  readonly acceptedMicros: bigint;
}

/** A write under way: others run until it knows what to change, then it is committed at once. */
export interface WriteRun extends Pick<ReadExecution, 'run' | 'dispose'> {
  readonly kind: 'write';
  /** True while it is in its transaction, where a bug ends the database. */
  readonly isWriting: boolean;
  /** Once it is done. */
  result(): SqlRows & { readonly offset: CommitOffset };
  /** Lets go of all that it has found, to find it again when it next runs. */
  startAgain(): void;
}

/** A statement under way. */
export type StatementRun = ReadExecution | WriteRun;

/**
 * A statement within its connection, which stays until the statement is over. Between two calls of
 * `resume` others may write.
 */
export class PausedQuery {
  readonly kind = 'paused';
  readonly #core: DatabaseCore;
  readonly #asked: AskedQuery;
  readonly #run: StatementRun;
  /** The commit whose rows a read sees. */
  readonly #offset: CommitOffset;
  /** Time it has run. */
  #millis: number;

  /** `millis`: how long it took to make the run. */
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

  /** Of a connection that is there for this statement alone. */
  get connectionId(): bigint | undefined {
    const { connection } = this.#asked.query;
    return connection.kind === 'temporary' ? connection.id : undefined;
  }

  /** True when its last slice may commit something. */
  get isWrite(): boolean {
    return 'kind' in this.#run;
  }

  /** Runs one slice. The outcome, when that was the last; the connection has then left. */
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

  /** Ends it before its time. */
  end(error: SqlError): SqlOutcome {
    this.#leave();
    return { kind: 'failed', error, micros: this.#micros };
  }

  /** For a write that has to wait: it holds nothing until it is resumed. */
  startAgain(): void {
    if ('kind' in this.#run) this.#run.startAgain();
  }

  /** Lets go of what it holds, and of nothing else: the database writes no more. */
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
    return { kind: 'result', ...result, micros: this.#micros };
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
