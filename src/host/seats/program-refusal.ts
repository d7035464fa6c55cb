import { Refusal } from '../../database/outcome.ts';
import type { SeatEnd } from './seat.ts';
import type { PlainEnd } from './start-end.ts';

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
