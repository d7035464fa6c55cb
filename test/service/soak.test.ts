import { expect, it } from 'vitest';
import { soak } from './soak/soak.ts';

it('[websocket 11] clients that come, go and stop reading leave nothing behind', async () => {
  const seed = 20_261_121;
  const bounds = { minutes: 0.1, cycleMillis: 6_000, visitsPerCycle: 50 };
  const report = await soak({ seed, ...bounds, log: () => undefined });
  expect(report.leftovers).toEqual([]);
  expect(report.visits).toBeGreaterThan(100);
  expect(report.givenUp).toBeGreaterThan(0);
  const [first, ...others] = report.samples.map(({ resources }) => resources);
  expect(Math.max(...others)).toBeLessThanOrEqual(first as number);
}, 600_000);
