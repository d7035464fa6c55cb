import { describe, expect, it } from 'vitest';
import { present } from '../../assert.ts';
import { Random } from '../../testing/random.ts';
import type { AggregateFunction, Pacer } from './function.ts';
import { medianAggregate, spreadAggregate, stringAggregate } from './keeping-aggregates.ts';
import { packerOf } from './packed.ts';
import { scalarTypes } from './value-kind.ts';

const { string } = scalarTypes;
const parts = [
  { type: string, isNullable: false },
  { type: string, isNullable: true },
];
const packed = packerOf(parts);
const random = new Random(3);
const numbers = Array.from({ length: 10_000 }, () => random.below(100_000));

const kinds: readonly [string, AggregateFunction, (value: number) => number | Uint8Array][] = [
  ['median', medianAggregate(), (value) => value],
  ['stddev_samp', spreadAggregate('stddev_samp'), (value) => value],
  ['string_agg', stringAggregate(parts, []), (value) => packed([String(value), ','])],
];

/** Pauses after so many steps, and counts how often. */
class ShortTurns implements Pacer {
  ticks = 100;
  pauseCount = 0;

  mustPause(): boolean {
    this.ticks = 100;
    this.pauseCount += 1;
    return true;
  }
}

describe.each(kinds)('%s', (_, made, argument) => {
  it('[ease 3.4] lets others go on while it looks at what it has kept', () => {
    const atOnce = made.makeAccumulator();
    const inSteps = made.makeAccumulator();
    for (const number of numbers) {
      atOnce.add(argument(number));
      inSteps.add(argument(number));
    }
    const turns = new ShortTurns();
    const settle = () => present(inSteps.settle, 'it keeps values').call(inSteps, turns);
    while (!settle());
    expect(turns.pauseCount).toBeGreaterThan(numbers.length / 2_048);
    expect(inSteps.finish()).toBe(atOnce.finish());
  });

  it('[ease 3.4] takes what comes after it was settled', () => {
    const settled = made.makeAccumulator();
    const other = made.makeAccumulator();
    for (const number of numbers.slice(0, 100)) {
      settled.add(argument(number));
      other.add(argument(number));
      settled.finish();
    }
    expect(settled.finish()).toBe(other.finish());
  });
});

it('[ease 3.4] the median of what was sorted is that of the sorted values', () => {
  const median = medianAggregate().makeAccumulator();
  for (const number of numbers) median.add(number);
  const sorted = numbers.toSorted((a, b) => a - b);
  const [low, high] = [sorted[4_999] as number, sorted[5_000] as number];
  expect(median.finish()).toBe((low + high) / 2);
});
