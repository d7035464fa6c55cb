import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { CallQueue, type ItemSource } from './call-queue.ts';

/** Numbers from `first` up; counts how many were created. */
class Numbers implements ItemSource<number> {
  remaining: number;
  made = 0;
  readonly #first: number;

  constructor(first: number, count: number) {
    this.#first = first;
    this.remaining = count;
  }

  next(): number {
    this.remaining -= 1;
    this.made += 1;
    return this.#first + this.made - 1;
  }
}

describe('the queue of a database', () => {
  it('gives items and those of sources in the order in which they came', () => {
    const queue = new CallQueue<number>();
    queue.push(1);
    queue.pushAll(new Numbers(2, 3));
    queue.push(5);
    queue.pushAll(new Numbers(6, 1));
    expect(queue.length).toBe(6);
    expect(Array.from({ length: 6 }, () => queue.take())).toEqual([1, 2, 3, 4, 5, 6]);
    expect(queue.take()).toBeUndefined();
    expect(queue.length).toBe(0);
  });

  it('makes an item of a source when it is taken', () => {
    const queue = new CallQueue<number>();
    const numbers = new Numbers(0, 100);
    queue.pushAll(numbers);
    queue.take();
    queue.take();
    expect(numbers.made).toBe(2);
  });

  it('takes a source whole or not at all', () => {
    const queue = new CallQueue<number>();
    queue.push(0);
    expect(() => queue.pushAll(new Numbers(1, limits.callQueueMax))).toThrow('overloaded');
    expect(queue.length).toBe(1);
    queue.pushAll(new Numbers(1, limits.callQueueMax - 1));
    expect(() => queue.push(0)).toThrow('overloaded');
  });

  it('keeps the order over many short sources', () => {
    const queue = new CallQueue<number>();
    const taken: (number | undefined)[] = [];
    for (let at = 0; at < 3 * limits.callsPerTurnMax; at += 1) {
      queue.push(at);
      if (at % 2 === 1) taken.push(queue.take());
    }
    while (queue.length > 0) taken.push(queue.take());
    expect(taken).toEqual(Array.from({ length: 3 * limits.callsPerTurnMax }, (_, at) => at));
  });
});
