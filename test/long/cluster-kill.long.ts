import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { clusterKillRounds } from '../service/cluster-kill-rounds.ts';
import { root } from '../service/harness.ts';

/** `KILLS` and `PAUSES` change how often; the times are kept where `OUT` names a file. */
const kills = Number(process.env.KILLS ?? 100);
const pauses = Number(process.env.PAUSES ?? 40);
const out = process.env.OUT;

it('[replication 17.5] a hundred leaders are killed, and forty are stopped', async () => {
  const report = await clusterKillRounds({ kills, pauses });
  const figures = {
    acknowledged: report.acknowledged,
    came: report.comeCounts,
    kill: figuresOf(report.kills),
    pause: figuresOf(report.pauses),
  };
  console.log(JSON.stringify(figures, null, 2));
  if (out !== undefined) writeFileSync(path.resolve(root, out), JSON.stringify(figures, null, 2));
  const { lost, wrong, unlike } = report;
  expect({ lost, wrong, unlike }).toEqual({ lost: [], wrong: [], unlike: [] });
  expect(Math.max(...report.kills, ...report.pauses)).toBeLessThan(
    5_000 * Number(process.env.TEST_SLOWNESS ?? 1),
  );
});

function figuresOf(millis: readonly number[]) {
  const sorted = millis.map(Math.round).sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))];
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), worst: at(1) };
}
