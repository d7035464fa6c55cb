import { expect, it } from 'vitest';
import { publishKillRounds } from './publish-kill-rounds.ts';

it('[living 4.1] each program reads the values that came with it, over kill -9', async () => {
  const report = await publishKillRounds(3, 20_253);
  expect(report.published).toBeGreaterThan(0);
  expect(report.reads).toBeGreaterThan(6);
}, 120_000);
