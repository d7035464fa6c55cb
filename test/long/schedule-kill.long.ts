import { expect, it } from 'vitest';
import { scheduleKillRounds } from '../service/schedule-kill-rounds.ts';

const rounds = Number(process.env.ROUNDS ?? 50);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

it(`[living 1.1, 1.4, 1.5, 1.10] ${rounds} rounds of kill -9 over schedules, seed ${seed}`, async () => {
  const report = await scheduleKillRounds(rounds, seed);
  console.log(report);
  expect(report.once).toBeGreaterThan(rounds * 10);
});
