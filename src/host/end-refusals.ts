import { Refusal } from '../database/outcome.ts';
import type { SeatEnd, SeatMode } from './seat.ts';

/** Why there is no database: what its program did, or what was found on the disk. */
export function notStartedRefusal({ body, message }: SeatEnd, mode: SeatMode): Refusal {
  if (body !== undefined) return new Refusal(body);
  if (mode.kind === 'create') return new Refusal({ code: 'program.invalid', message });
  const text = `error starting database: ${message}`;
  return new Refusal({ code: 'database.broken', message: text });
}

/** Why a database that served does so no more. */
export function failedRefusal({ message }: SeatEnd): Refusal {
  return new Refusal({ code: 'database.broken', message: `the database stopped: ${message}` });
}

/** A request was done and is not there any more. */
export function lostReply(): Refusal {
  const message = 'The request was done, but the database lost it before it was durable.';
  return new Refusal({ code: 'database.lost', message });
}
