import { AssertionError } from '../assert.ts';
import type { Brand } from '../brand.ts';

/**
 * Number of a request to one database, ascending over all its actors, counted from 1; 0 means "no
 * request".
 */
export type Ticket = Brand<number, 'Ticket'>;

/** Mints a ticket; asserts that it is a whole number that a double holds exactly. */
export function ticketNumber(raw: number): Ticket {
  // Not `assert`: its message would be built for every request.
  if (!Number.isSafeInteger(raw) || raw < 0) throw new AssertionError(`not a ticket: ${raw}`);
  return raw as Ticket;
}

export const noTicket = ticketNumber(0);
