import { expect, it } from 'vitest';
import { killRounds } from '../service/kill-rounds.ts';

const rounds = Number(process.env.ROUNDS ?? 100);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

it(`[durability P4] ${rounds} rounds of kill -9 under load, seed ${seed}`, async () => {
  const report = await killRounds(rounds, seed);
  console.log(report);
  expect(report.acknowledged).toBeGreaterThan(rounds * 30);
});
