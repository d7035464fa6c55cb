import { expect, it } from 'vitest';
import { publishKillRounds } from '../service/publish-kill-rounds.ts';

const rounds = Number(process.env.ROUNDS ?? 50);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

it.each(['thread', 'process'])(
  `[living 4.1] ${rounds} rounds of kill -9 over publishes with values (%s), seed ${seed}`,
  async (isolation) => {
    const report = await publishKillRounds(rounds, seed, ['--isolation', isolation]);
    console.log(report);
    expect(report.published).toBeGreaterThan(rounds / 4);
  },
);
