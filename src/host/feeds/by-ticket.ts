import { assert } from '../../assert.ts';
import type { Ticket } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';

export interface Ticketed {
  readonly ticket: Ticket;
}

const slotsMin = 16;
/** A power of two, as all counts of slots are. */
const slotsMax = limits.callQueueMax;
assert((slotsMax & (slotsMax - 1)) === 0, 'a ticket modulo the slots is some of its bits');

/**
 * Items by their tickets, which ascend. Most leave soon and in order, so each takes the slot of its
 * ticket modulo the slot count; one whose slot is needed again, with all slots in use, moves to a
 * map.
 *
 * A map alone will not do: the engine's keeps replacing its table, and the old table keeps a
 * reference to the new one. Once one of them has become old, all garbage behind it looks alive
 * until the next full collection, and is copied twice.
 */
export class ByTicket<Item extends Ticketed> {
  #slots = emptySlots<Item>(slotsMin);
  readonly #stragglers = new Map<Ticket, Item>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The ticket must be new. */
  add(item: Item): void {
    const { ticket } = item;
    let at = ticket % this.#slots.length;
    for (let other = this.#slots[at]; other !== undefined; other = this.#slots[at]) {
      if (this.#slots.length === slotsMax) {
        this.#stragglers.set(other.ticket, other);
        break;
      }
      this.#grow();
      at = ticket % this.#slots.length;
    }
    this.#slots[at] = item;
    this.#size += 1;
  }

  get(ticket: Ticket): Item | undefined {
    const item = this.#slots[ticket % this.#slots.length];
    if (item?.ticket === ticket) return item;
    return this.#stragglers.size === 0 ? undefined : this.#stragglers.get(ticket);
  }

  take(ticket: Ticket): Item | undefined {
    const item = this.get(ticket);
    if (item === undefined) return undefined;
    this.#size -= 1;
    const at = ticket % this.#slots.length;
    if (this.#slots[at] === item) this.#slots[at] = undefined;
    else this.#stragglers.delete(ticket);
    return item;
  }

  /** All items, in no particular order. */
  *[Symbol.iterator](): Generator<Item, void, void> {
    for (const item of this.#slots) if (item !== undefined) yield item;
    yield* this.#stragglers.values();
  }

  /** Removes all items and returns them in the order of their tickets. */
  takeAll(): Item[] {
    const items = this.#slots.filter((item) => item !== undefined);
    items.push(...this.#stragglers.values());
    this.#slots = emptySlots(slotsMin);
    this.#stragglers.clear();
    this.#size = 0;
    return items.sort((one, other) => one.ticket - other.ticket);
  }

  #grow(): void {
    const slots = emptySlots<Item>(this.#slots.length * 2);
    for (const item of this.#slots) {
      if (item !== undefined) slots[item.ticket % slots.length] = item;
    }
    this.#slots = slots;
  }
}

function emptySlots<Item>(count: number): (Item | undefined)[] {
  return new Array<Item | undefined>(count).fill(undefined);
}
