import { describe, expect, it } from 'vitest';
import { Random } from '../testing/random.ts';
import { OrderedBag } from './ordered-bag.ts';

/** The slow way: all items, sorted. */
class Model {
  readonly all: number[] = [];

  add(item: number): void {
    this.all.push(item);
    this.all.sort((a, b) => a - b);
  }

  remove(at: number): number | undefined {
    return this.all.splice(at, 1)[0];
  }
}

function listOf(bag: OrderedBag<number>): number[] {
  return bag.entries.flatMap(({ item, count }) => new Array<number>(count).fill(item));
}

describe('the first items of a bag', () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    it(`are those of all items sorted, until it says that it is short (seed ${seed})`, () => {
      const random = new Random(seed);
      const model = new Model();
      const bag = new OrderedBag<number>(
        (a, b) => a - b,
        random.between(2, 6),
        () => 8,
      );
      let fills = 0;
      for (let step = 0; step < 2_000; step++) {
        const grows = random.chance(step % 400 < 200 ? 0.7 : 0.3);
        if (grows || model.all.length === 0) {
          const item = random.below(60);
          model.add(item);
          bag.add(item);
        } else {
          const isFirst = random.chance(0.5);
          const item = model.remove(isFirst ? 0 : random.below(model.all.length));
          if (item !== undefined) bag.remove(item);
        }
        if (bag.isShortOf(3)) {
          fills += 1;
          bag.fill((add) => {
            for (const item of model.all.toReversed()) add(item);
          });
        }
        const known = listOf(bag);
        expect(known).toEqual(model.all.slice(0, known.length));
        expect(known.length).toBeGreaterThanOrEqual(Math.min(3, model.all.length));
        expect(bag.bytes).toBe(bag.entries.length * (48 + 8));
      }
      expect(fills).toBeGreaterThan(0);
    });
  }

  it('says from where on it has changed', () => {
    const bag = new OrderedBag<number>(
      (a, b) => a - b,
      10,
      () => 0,
    );
    for (const item of [10, 20, 30]) bag.add(item);
    bag.takeChangedFrom();
    bag.add(25);
    expect(bag.takeChangedFrom()).toBe(2);
    expect(bag.takeChangedFrom()).toBe(Number.POSITIVE_INFINITY);
    bag.remove(40);
    expect(bag.takeChangedFrom()).toBe(Number.POSITIVE_INFINITY);
    bag.remove(10);
    expect(bag.takeChangedFrom()).toBe(0);
  });
});
