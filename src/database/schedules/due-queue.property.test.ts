import { expect, it } from 'vitest';
import { Random } from '../../testing/random.ts';
import { DueQueue } from './due-queue.ts';

type Entry = readonly [due: number, high: number, low: number];

function inOrder(one: Entry, other: Entry): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}

function firstOf(queue: DueQueue): Entry {
  return [queue.firstDue, queue.firstHigh, queue.firstLow];
}

it.each([1, 2, 3, 4])('[living 1.7] takes entries in order, seed %i', (seed) => {
  const random = new Random(seed);
  const queue = new DueQueue();
  const model: Entry[] = [];
  const some = (): Entry => {
    // Few different times and keys, so that there are ties.
    return [random.below(50) - 25, random.below(3), random.below(4) * 0x4000_0000];
  };
  for (let step = 0; step < 5_000; step++) {
    const isGrowing = Math.floor(step / 500) % 2 === 0;
    if (random.chance(0.01)) {
      const added = Array.from({ length: random.below(40) }, some);
      for (const [due, high, low] of added) queue.add(due, high, low);
      model.push(...added);
      queue.order();
    } else if (model.length === 0 || random.chance(isGrowing ? 0.7 : 0.3)) {
      const entry = some();
      model.push(entry);
      queue.push(...entry);
    } else {
      model.sort(inOrder);
      expect(firstOf(queue)).toEqual(model.shift());
      queue.pop();
    }
    expect(queue.size).toBe(model.length);
  }
  expect(model.length).toBeGreaterThan(0);
  for (const entry of model.sort(inOrder)) {
    expect(firstOf(queue)).toEqual(entry);
    queue.pop();
  }
  expect(queue.firstDue).toBe(Number.POSITIVE_INFINITY);
});

it('[living 1.9] takes 16 bytes an entry in blocks, and gives them back', () => {
  const queue = new DueQueue();
  const count = 200_000;
  const random = new Random(1);
  for (let at = 0; at < count; at++) queue.push(random.u32(), 0, at);
  expect(queue.bytes).toBeLessThan(count * 16 + 2 * 2 ** 20);
  let before = 0;
  while (queue.size > 0) {
    expect(queue.firstDue >= before).toBe(true);
    before = queue.firstDue;
    queue.pop();
  }
  expect(queue.bytes).toBeLessThanOrEqual(2 * 2 ** 20);
});
