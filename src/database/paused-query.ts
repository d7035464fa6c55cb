import type { DatabaseCore } from './core.ts';
import type { CommitOffset, SqlError, SqlOutcome, SqlRequest } from './outcome.ts';
import type { ReadExecution } from './read-execution.ts';
import { leave } from './run-call.ts';
import { readErrorOf } from './statement-error.ts';

/** Who asked for a statement, and when. */
export interface AskedQuery {
  readonly query: SqlRequest;
  readonly acceptedMicros: bigint;
}

/**
 * A read within its connection, which stays until the read is over. Between two calls of `resume`
 * others may write.
 */
export class PausedQuery {
  readonly kind = 'paused';
  readonly #core: DatabaseCore;
  readonly #asked: AskedQuery;
  readonly #execution: ReadExecution;
  /** The commit whose rows it reads. */
  readonly #offset: CommitOffset;
  /** Time it has run. */
  #millis: number;

  /** `millis`: how long it took to make the execution. */
  constructor(core: DatabaseCore, asked: AskedQuery, execution: ReadExecution, millis: number) {
    this.#core = core;
    this.#asked = asked;
    this.#execution = execution;
    this.#offset = core.store.offset;
    this.#millis = millis;
  }

  /** Of a connection that is there for this read alone. */
  get connectionId(): bigint | undefined {
    const { connection } = this.#asked.query;
    return connection.kind === 'temporary' ? connection.id : undefined;
  }

  /** Runs one slice. The outcome, when that was the last; the connection has then left. */
  resume(): SqlOutcome | undefined {
    const { clock } = this.#core;
    const startedAt = clock.monotonicMillis();
    try {
      const step = this.#execution.run();
      this.#millis += clock.monotonicMillis() - startedAt;
      return step === 'paused' ? undefined : this.#finish();
    } catch (error) {
      this.#millis += clock.monotonicMillis() - startedAt;
      return this.end(readErrorOf(this.#core, error));
    }
  }

  /** Ends it before its time. */
  end(error: SqlError): SqlOutcome {
    this.#leave();
    return { kind: 'failed', error, micros: this.#micros };
  }

  /** Lets go of what it holds, and of nothing else: the database writes no more. */
  abandon(): void {
    this.#execution.dispose();
  }

  #finish(): SqlOutcome {
    const { columns, types, rows, rowCount } = this.#execution.result();
    this.#leave();
    const none = { inserted: 0, deleted: 0, updated: 0 };
    return {
      kind: 'result',
      ...{ columns, types, rows, rowCount },
      ...none,
      offset: this.#offset,
      micros: this.#micros,
    };
  }

  get #micros(): number {
    return Math.round(this.#millis * 1000);
  }

  #leave(): void {
    this.#execution.dispose();
    const { query, acceptedMicros } = this.#asked;
    leave(this.#core, query, acceptedMicros);
  }
}
