import type { DatabaseRequest } from '../../database/turn.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import type { ReportLine } from '../../node/report-line.ts';
import type { SeatEnd } from './seat.ts';

/** What follows when an actor has ended before its time. */
export type AfterEnd =
  | 'reopens'
  /** A request can open it again, after a while: see `Reopening`. */
  | 'broken'
  | 'closed';

/**
 * Receives a line about a database: its level, its text, which follows the name of the database
 * (`is read-only: …`), and fields for programs.
 */
export type ReportOfDatabase = (
  level: ReportLine['level'],
  message: string,
  about?: ReportLine['about'],
) => void;

/**
 * The line of the service log about the end of an actor: what happened, and what follows. Why the
 * program of a new database was rejected is for its publisher: these are the program's words.
 */
export function endLine(
  { cause, message, scheduled }: SeatEnd,
  next: AfterEnd,
  isNew: boolean,
): Parameters<ReportOfDatabase> {
  const about = { reason: cause, next };
  const after = scheduled === undefined ? '' : ' after a scheduled run';
  switch (next) {
    case 'reopens':
      if (cause === 'deposed') return ['info', `is followed: ${message}`, about];
      return ['warn', `is reopened${after}: ${message}`, about];
    case 'closed':
      return ['warn', `ended with an error: ${message}`, about];
    case 'broken':
      if (isNew && cause === 'refused') {
        return ['info', 'was not created: its program was rejected'];
      }
      // No database exists that could be broken, and a full disk is not a fault of the service.
      if (isNew) {
        return [
          cause === 'full' ? 'warn' : 'error',
          `was not created: ${message}`,
          { reason: cause },
        ];
      }
      return ['error', `no longer serves${after}: ${message}`, about];
  }
}

/** Text for the service log: the files of the log were replaced with other ones. */
export function lossText(commitCount: number): string {
  const commits = commitCount === 1 ? '1 commit that was' : `${commitCount} commits that were`;
  return `serves without ${commits} durable before: its files were replaced`;
}

/**
 * Line for the module's log, where a call that ended the actor left none of its own. That of a
 * scheduled run is written by the next actor, which knows the names.
 */
export function authorLine(
  { cause, message }: SeatEnd,
  request: DatabaseRequest | undefined,
): ModuleLogLine | undefined {
  if (request?.kind !== 'call' || (cause !== 'budget' && cause !== 'died')) return undefined;
  return { level: 'error', message, functionName: request.call.reducer };
}
