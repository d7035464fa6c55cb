import { expect, it } from 'vitest';
import { scheduleKillRounds } from './schedule-kill-rounds.ts';

it('[living 1.1, 1.4, 1.5, 1.10] what is due runs once each time, over kill -9', async () => {
  const report = await scheduleKillRounds(5, 20_252);
  expect(report.once).toBeGreaterThan(50);
  expect(report.ticks).toBeGreaterThan(50);
}, 240_000);
