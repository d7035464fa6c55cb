import { expect, it } from 'vitest';
import { ProcessorUse } from './standing.ts';

/** Measures each half second, after having run and waited for that share of it. */
function shares(...given: readonly (readonly [run: number, wait: number])[]): boolean[] {
  const use = new ProcessorUse();
  const time = { runMillis: 0, waitMillis: 0 };
  let now = 10_000;
  use.look(now, () => ({ ...time }));
  return given.map(([run, wait]) => {
    now += 500;
    time.runMillis += 500 * run;
    time.waitMillis += 500 * wait;
    use.look(now, () => ({ ...time }));
    return use.isHigh;
  });
}

it('is high from a quarter of a processor on, whatever it was kept waiting before', () => {
  expect(shares([0.2, 0], [0.1, 0.9], [0.3, 0])).toEqual([false, false, true]);
});

it('stays high while more is wanted than there is', () => {
  expect(shares([0.5, 0], [0.02, 0.9], [0.05, 0.05])).toEqual([true, true, false]);
});

it('is measured now and then, and never high where nobody counts', () => {
  const use = new ProcessorUse();
  let asked = 0;
  for (let now = 1_000; now <= 2_000; now += 50) {
    use.look(now, () => {
      asked += 1;
      return undefined;
    });
  }
  expect(asked).toBe(3);
  expect(use.isHigh).toBe(false);
});
