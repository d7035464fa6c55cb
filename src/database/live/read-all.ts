import type { RowSet } from '../../live/row-set.ts';
import { SqlFailure } from '../../sql/failure.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { DatabaseCore } from '../core.ts';
import type { DatabaseReply } from '../turn.ts';
import { PausedRows } from './paused-rows.ts';
import type { SetRows } from './set-rows.ts';

/** What to do with rows, whether or not reading them pauses. */
export interface Reading<Done> {
  readonly connectionId: ConnectionNumber;
  /** Called before a pause; returns the numbers of queries that are watched from now on. */
  readonly begun?: () => readonly number[];
  readonly done: (rows: readonly (readonly RowSet[])[]) => Done;
  /** Called when an error follows a pause. */
  readonly failed?: () => void;
  readonly replyOf: (outcome: (Done & Timed) | Refused) => DatabaseReply;
}

/** Reads rows until they are complete or the first slice is over. */
export function readAll<Done extends object>(
  core: DatabaseCore,
  { rows, millis }: { readonly rows: SetRows; readonly millis: () => number },
  { connectionId, begun, done, failed, replyOf }: Reading<Done>,
): Done | PausedRows {
  let isPaused = false;
  try {
    if (rows.run() === 'done') return done(rows.rows());
    const queries = begun?.() ?? [];
    isPaused = true;
    return new PausedRows(
      core,
      { rows, queries, millis: millis() },
      {
        connectionId,
        done: (sets, micros) => replyOf({ ...done(sets), micros }),
        failed: (error, micros) => {
          failed?.();
          return replyOf({ kind: 'refused', error, micros });
        },
      },
    );
  } finally {
    if (!isPaused) rows.dispose();
  }
}

export interface Timed {
  readonly micros: number;
}

export interface Refused extends Timed {
  readonly kind: 'refused';
  readonly error: string;
}

/** Turns an error of the request into its outcome. `millis` is the time since the beginning. */
export function timed<Done extends object>(
  { clock }: DatabaseCore,
  run: (millis: () => number) => Done | PausedRows,
): (Done & Timed) | Refused | PausedRows {
  const startedAt = clock.monotonicMillis();
  const millis = (): number => clock.monotonicMillis() - startedAt;
  const micros = (): number => Math.round(millis() * 1000);
  try {
    const done = run(millis);
    return done instanceof PausedRows ? done : { ...done, micros: micros() };
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    return { kind: 'refused', error: error.message, micros: micros() };
  }
}
