import type { RowSet } from '../../live/row-set.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { DatabaseCore } from '../core.ts';
import type { PausedRead } from '../long-reads.ts';
import { readErrorOf } from '../statement-error.ts';
import type { DatabaseReply } from '../turn.ts';
import type { SetRows } from './set-rows.ts';

/** What to do when rows read in slices are complete. */
export interface RowsEnd {
  /** The connection that waits for them. */
  readonly connectionId: ConnectionNumber;
  /** Called when they are complete; `micros` is the time spent reading them, without pauses. */
  readonly done: (rows: readonly (readonly RowSet[])[], micros: number) => DatabaseReply;
  /** Called if they cannot be read. */
  readonly failed: (error: string, micros: number) => DatabaseReply;
}

/** Rows of query sets that were not all read within the first slice. Others write meanwhile. */
export class PausedRows implements PausedRead {
  readonly kind = 'paused';
  readonly isWrite = false;
  /** Numbers of the queries that are watched from the first slice on. */
  readonly queries: readonly number[];
  readonly #core: DatabaseCore;
  readonly #rows: SetRows;
  readonly #end: RowsEnd;
  #millis: number;

  /** `millis` is the duration of the first slice. */
  constructor(
    core: DatabaseCore,
    { rows, queries, millis }: { rows: SetRows; queries: readonly number[]; millis: number },
    end: RowsEnd,
  ) {
    this.#core = core;
    this.#rows = rows;
    this.queries = queries;
    this.#millis = millis;
    this.#end = end;
  }

  get connectionId(): ConnectionNumber {
    return this.#end.connectionId;
  }

  get isReady(): boolean {
    return this.#rows.isReady;
  }

  resume(): DatabaseReply | undefined {
    return this.#run(() => this.#rows.run());
  }

  /** Reads the rest at once, because the tables are about to change. */
  stop(): DatabaseReply {
    const reply = this.#run(() => {
      this.#rows.runAll();
      return 'done';
    });
    return reply ?? this.cancel('The rows were not read.');
  }

  cancel(error: string): DatabaseReply {
    this.#rows.dispose();
    return this.#end.failed(error, this.#micros);
  }

  abandon(): void {
    this.#rows.dispose();
  }

  #run(read: () => 'done' | 'paused'): DatabaseReply | undefined {
    const { clock } = this.#core;
    const startedAt = clock.monotonicMillis();
    const spend = (): void => {
      this.#millis += clock.monotonicMillis() - startedAt;
    };
    try {
      if (read() === 'paused') {
        spend();
        return undefined;
      }
    } catch (error) {
      spend();
      return this.cancel(readErrorOf(this.#core, error).message);
    }
    spend();
    const rows = this.#rows.rows();
    this.#rows.dispose();
    return this.#end.done(rows, this.#micros);
  }

  get #micros(): number {
    return Math.round(this.#millis * 1000);
  }
}
