import { describe, expect, it } from 'vitest';
import { ticketNumber } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import { Random } from '../../testing/random.ts';
import { ByTicket } from './by-ticket.ts';

const itemOf = (raw: number) => ({ ticket: ticketNumber(raw) });

describe('items by their tickets', () => {
  it('are those of a plain map, whatever comes and goes', () => {
    const seed = 20_261_121;
    const random = new Random(seed);
    const items = new ByTicket<ReturnType<typeof itemOf>>();
    const model = new Map<number, ReturnType<typeof itemOf>>();
    let last = 0;
    for (let step = 0; step < 20_000; step++) {
      if (random.chance(0.55)) {
        last += random.between(1, 3);
        const item = itemOf(last);
        items.add(item);
        model.set(last, item);
      } else {
        // Usually one that has waited for a long time, sometimes one that does not exist.
        const [first = 0] = model.keys();
        const ticket = random.chance(0.7) ? first : random.between(0, last);
        expect(items.get(ticketNumber(ticket)), `seed ${seed}`).toBe(model.get(ticket));
        expect(items.take(ticketNumber(ticket)), `seed ${seed}`).toBe(model.get(ticket));
        model.delete(ticket);
      }
      expect(items.size).toBe(model.size);
    }
    expect(items.takeAll()).toEqual([...model.values()]);
    expect([items.size, items.get(ticketNumber(last))]).toEqual([0, undefined]);
  });

  it('are found in their order when one stays behind all others', () => {
    const items = new ByTicket<ReturnType<typeof itemOf>>();
    const count = 3 * limits.callQueueMax;
    for (let ticket = 1; ticket <= count; ticket++) {
      items.add(itemOf(ticket));
      if (ticket > 10) items.take(ticketNumber(ticket - 5));
    }
    const left = [1, 2, 3, 4, 5, ...[4, 3, 2, 1, 0].map((back) => count - back)];
    for (const ticket of left) expect(items.get(ticketNumber(ticket))).toEqual(itemOf(ticket));
    expect(items.take(ticketNumber(3))).toEqual(itemOf(3));
    expect(items.takeAll()).toEqual(left.filter((ticket) => ticket !== 3).map(itemOf));
  });
});
