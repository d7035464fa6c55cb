import { Refusal } from '../database/outcome.ts';
import { noSpaceRefusal } from './full-disk.ts';
import type { SeatEnd, SeatMode } from './seat.ts';
import type { PlainEnd } from './start-end.ts';

/** The reason why a database did not start: what its program did, or what the disk holds. */
export function notStartedRefusal(end: SeatEnd, mode: SeatMode): Refusal {
  const { body, cause, message } = end;
  if (cause === 'full' && mode.kind !== 'open') return noSpaceRefusal(message);
  if (body !== undefined || mode.kind === 'create') return programRefusal(end);
  const text = `error starting database: ${message}`;
  return new Refusal({ code: 'database.broken', message: text });
}

/** The reason why a program is rejected: what it did, or that it could not be tried. */
export function programRefusal({ body, cause, message }: PlainEnd): Refusal {
  if (body !== undefined) return new Refusal(body);
  if (!isOfService(cause)) return new Refusal({ code: 'program.invalid', message });
  const text = `The service could not try the program, which may be in order: ${message}`;
  return new Refusal({ code: 'database.stopped', message: `${text} Publish it again.` });
}

/** True: the program had no part in it. */
export function isOfService(cause: SeatEnd['cause']): boolean {
  return cause === 'silent' || cause === 'killed' || cause === 'closed';
}

/** The reason why a database that served no longer does. */
export function failedRefusal({ message }: SeatEnd): Refusal {
  return new Refusal({ code: 'database.broken', message: `the database stopped: ${message}` });
}

/** The request ran, but what it did is lost. */
export function lostReply(): Refusal {
  const message = 'The request was done, but the database lost it before it was durable.';
  return new Refusal({ code: 'database.lost', message });
}
