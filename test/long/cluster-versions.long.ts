import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { clusterKillRounds } from '../service/cluster-kill-rounds.ts';
import { ServiceCluster } from '../service/cluster-support.ts';

/** A checkout of an earlier version, built: `OLDER=../older npm run test:long -- cluster-versions`. */
const older = process.env.OLDER;
const kills = Number(process.env.KILLS ?? 20);

/**
 * Hosts begin with the earlier version. Each that is killed comes back with the other one, so that
 * both lead and follow, with each other and with their own.
 */
it('[replication 17.7] an earlier version and this one are killed in one cluster', async () => {
  const command = path.resolve(older ?? '', 'dist/cli/main.js');
  if (older === undefined || !existsSync(command)) {
    throw new Error('OLDER must name a checkout of an earlier version that was built');
  }
  const starts = new Map<string, number>();
  const report = await clusterKillRounds({ kills, pauses: 0 }, async () => {
    const cluster = await ServiceCluster.start();
    cluster.commandOf = (name) => {
      const count = starts.get(name) ?? 0;
      starts.set(name, count + 1);
      return count % 2 === 0 ? command : undefined;
    };
    return cluster;
  });
  const { acknowledged, lost, wrong, unlike } = report;
  console.log({ acknowledged, kills: report.kills.map(Math.round), starts: [...starts] });
  expect({ lost, wrong, unlike }).toEqual({ lost: [], wrong: [], unlike: [] });
  expect(acknowledged).toBeGreaterThan(100);
});
