import { Refusal } from '../../database/outcome.ts';
import { programRefusal } from '../seats/program-refusal.ts';
import type { SeatEnd, SeatMode } from '../seats/seat.ts';
import { noSpaceRefusal } from './full-disk.ts';

/** The reason why a database did not start: what its program did, or what the disk holds. */
export function notStartedRefusal(end: SeatEnd, mode: SeatMode): Refusal {
  const { body, cause, message } = end;
  if (cause === 'full' && mode.kind !== 'open') return noSpaceRefusal(message);
  if (body !== undefined || mode.kind === 'create') return programRefusal(end);
  const text = `error starting database: ${message}`;
  return new Refusal({ code: 'database.broken', message: text });
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
