import { expect, it } from 'vitest';
import { killRounds } from './kill-rounds.ts';

it('[durability P4] what was acknowledged survives kill -9, with its ids', async () => {
  const report = await killRounds(3, 20_251);
  expect(report.acknowledged).toBeGreaterThan(100);
  expect(report.wasted).toBeGreaterThan(0);
}, 120_000);
