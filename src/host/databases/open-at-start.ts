import { availableParallelism } from 'node:os';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import { bytesText } from '../../values/bytes-text.ts';
import type { LogExtent } from '../registry/database-files.ts';

/**
 * Which databases open when the service starts: all of them, or those that were written last and
 * those that must. The others open on their first request.
 */
export const startChoices = ['lazily', 'all'] as const;
export type StartChoice = (typeof startChoices)[number];

/** A database that has had no request yet. */
export interface ClosedDatabase {
  /** `undefined`: nothing exists, which opening it will report. */
  readonly log: LogExtent | undefined;
  /** True: what it holds must be known. */
  readonly isNeeded: boolean;
  /** Opens it, if it is closed; resolves once it serves, rejects when it will not. */
  open(): Promise<void>;
}

/**
 * Opens the databases that do not wait for a request, those with the shortest logs first and as
 * many at once as there are processors. Resolves when all of them serve or are broken.
 */
export async function openAtStart(
  databases: readonly ClosedDatabase[],
  choice: StartChoice,
  report: Report,
): Promise<void> {
  const chosen = choice === 'all' ? databases : chosenOf(databases);
  if (chosen.length === 0) return;
  const queue = [...chosen].sort((one, other) => bytesOf(one) - bytesOf(other));
  const bytes = bytesText(queue.reduce((sum, database) => sum + bytesOf(database), 0));
  const which = `${queue.length} of ${databases.length} databases (${bytes} of log)`;
  const others = queue.length === databases.length ? '' : ', the others when first asked for';
  report({ level: 'info', message: `opening ${which}${others}` });
  const startedMillis = performance.now();
  let failed = 0;
  const openRest = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      // Its supervision reports why.
      await next.open().catch(() => {
        failed += 1;
      });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, openRest));
  const seconds = ((performance.now() - startedMillis) / 1_000).toFixed(1);
  const serving = `${chosen.length - failed} of ${chosen.length} databases serve`;
  report({ level: 'info', message: `${serving} after ${seconds} s` });
}

/** Databases that must open, and the ones that were written last. */
function chosenOf(databases: readonly ClosedDatabase[]): readonly ClosedDatabase[] {
  const hasTo = ({ isNeeded, log }: ClosedDatabase) => isNeeded || log === undefined;
  const recent = databases
    .filter((database) => !hasTo(database))
    .sort((one, other) => writtenMillisOf(other) - writtenMillisOf(one))
    .slice(0, limits.startDatabasesMax);
  return [...databases.filter(hasTo), ...recent];
}

function bytesOf({ log }: ClosedDatabase): number {
  return log?.bytes ?? 0;
}

function writtenMillisOf({ log }: ClosedDatabase): number {
  return log?.writtenMillis ?? 0;
}
