import { AssertionError, unreachable } from '../../assert.ts';
import { Refusal } from '../../database/outcome.ts';
import type { StopReason } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import { DiskError } from '../../log/disk.ts';
import { isForSpace, LogBrokenError, WriterError } from '../../log/log-error.ts';
import { cutText } from '../../module/log-line.ts';
import { type ReplicatorEnd, ReplicatorEndedError } from '../../shared-log/replicator.ts';
import { SharedLogFaultError } from '../replication/member-run.ts';
import type { SeatEnd } from './seat.ts';

/** The part of an end that crosses threads. */
export type PlainEnd = Pick<
  SeatEnd,
  'cause' | 'message' | 'body' | 'isUndone' | 'running' | 'handed'
>;

/** The reason why an actor did not start, by whether another start could help. */
export function endOfStart(error: unknown): PlainEnd {
  const message = messageChain(error);
  if (error instanceof Refusal) {
    return { cause: 'refused', message, body: error.body, running: undefined };
  }
  if (error instanceof ReplicatorEndedError) return endOfLead(error.end, undefined);
  // It is looked at again: an operator may repair it meanwhile.
  if (error instanceof SharedLogFaultError) return { cause: 'log', message, running: undefined };
  if (error instanceof AssertionError) return { cause: 'bug', message, running: undefined };
  if (isSuperseded(error)) return { cause: 'superseded', message, running: undefined };
  if (error instanceof DiskError || error instanceof LogBrokenError) {
    const text = isWithoutFolder(error) ? folderMissing : message;
    return { cause: diskCause(error), message: text, running: undefined };
  }
  return { cause: 'refused', message, running: undefined };
}

/** The reason why an actor stopped while it served. */
export function endOfService({ error, running, isUndone }: StopReason): PlainEnd {
  if (error instanceof ReplicatorEndedError) return endOfLead(error.end, running);
  const message = messageChain(error);
  if (isSuperseded(error)) return { cause: 'superseded', message, running };
  const isDisk = error instanceof DiskError || error instanceof LogBrokenError;
  return { cause: isDisk ? diskCause(error) : 'bug', message, isUndone, running };
}

/** Why a host leads a database no more. */
function endOfLead(end: ReplicatorEnd, running: SeatEnd['running']): PlainEnd {
  switch (end.kind) {
    case 'overtaken':
      return { cause: 'deposed', message: 'another host leads it', running };
    case 'handedOver': {
      const message = 'it was given to another host';
      return { cause: 'deposed', message, running, handed: end };
    }
    case 'stopped':
      return { cause: 'deposed', message: 'this host has stopped leading', running };
    case 'diverged':
      return { cause: 'log', message: `log.diverged: ${end.reason}`, running };
    case 'localFailure':
      return endOfService({ error: end.cause, running });
    default:
      return unreachable(end);
  }
}

const folderMissing = 'the folder of its log is missing; restore it from a backup';

/** The path is for the operator alone, who finds it by the database's identity. */
function isWithoutFolder(error: Error): boolean {
  if (!(error instanceof DiskError) || error.operation !== 'list') return false;
  return error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ENOENT';
}

function isSuperseded(error: unknown): boolean {
  const cause = error instanceof LogBrokenError ? error.cause : error;
  return cause instanceof WriterError;
}

/** After a failed sync the disk's content is unknown, whatever it returns when it is read. */
function diskCause(error: Error): 'log' | 'full' | 'sync' {
  const disk = error instanceof DiskError ? error : error.cause;
  if (!(disk instanceof DiskError)) return 'log';
  if (disk.operation.startsWith('sync')) return 'sync';
  return isForSpace(disk) ? 'full' : 'log';
}

/**
 * The messages of an error and its causes, without repetitions of the previous one. They are cut,
 * because some contain a program's words.
 */
function messageChain(error: unknown): string {
  const messages: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (!messages.some((message) => message.includes(at.message))) messages.push(at.message);
  }
  const text = messages.length === 0 ? String(error) : messages.join(': ');
  return cutText(text, limits.programErrorCharactersMax);
}
