import { describe, expect, it } from 'vitest';
import { querySetId, type SetId } from './live/set-id.ts';
import { noTicket, type Ticket, ticketNumber } from './ticket.ts';
import { type WriteNumber, writeNumber } from './write-number.ts';

const takeTicket = (ticket: Ticket): number => ticket;
const takeWrite = (write: WriteNumber): number => write;
const takeSet = (setId: SetId): number => setId;

describe('tickets, writes and query sets', () => {
  it('are three kinds of number, and plain ones are a fourth', () => {
    expect(takeTicket(ticketNumber(7))).toBe(7);
    expect(takeWrite(writeNumber(7))).toBe(7);
    expect(takeSet(querySetId(7))).toBe(7);
    // @ts-expect-error: a write is not a ticket
    takeTicket(writeNumber(7));
    // @ts-expect-error: a query set is not a ticket
    takeTicket(querySetId(7));
    // @ts-expect-error: a ticket is not a write
    takeWrite(ticketNumber(7));
    // @ts-expect-error: a ticket is not a query set
    takeSet(ticketNumber(7));
    // @ts-expect-error: nothing but the minting function makes one
    takeTicket(7);
    // @ts-expect-error
    takeWrite(7);
    // @ts-expect-error
    takeSet(7);
  });

  it.each([
    ['ticket', ticketNumber],
    ['write', writeNumber],
    ['query set', querySetId],
  ])('are whole numbers that a double holds: %s', (name, mint) => {
    for (const raw of [0, 1, 2 ** 33, Number.MAX_SAFE_INTEGER]) expect(mint(raw)).toBe(raw);
    for (const raw of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => mint(raw)).toThrow(`not a ${name}: ${raw}`);
    }
  });

  it('have no request with the ticket 0', () => {
    expect(noTicket).toBe(0);
  });
});
