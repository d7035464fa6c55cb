import { expect, it } from 'vitest';
import { clusterKillRounds } from '../service/cluster-kill-rounds.ts';
import { ServiceCluster } from '../service/cluster-support.ts';
import { NetworkLab, withoutNamespaces } from '../support/network-lab.ts';
import { withoutPostgres } from '../support/postgres-cluster.ts';

const without = withoutPostgres ?? withoutNamespaces();

/** `ROUNDS` changes how often each of them happens. */
const rounds = Number(process.env.ROUNDS ?? 10);

it.skipIf(without !== undefined)(
  '[replication 17.4] hosts in networks of their own, whose links break, lose nothing',
  async () => {
    const lab = NetworkLab.start(['primary', 'standby']);
    try {
      const plan = { kills: rounds, pauses: rounds, cuts: 4 * rounds };
      const report = await clusterKillRounds(plan, () => ServiceCluster.within(lab), lab);
      const { lost, wrong, unlike, cuts, kills, pauses } = report;
      const told = (millis: readonly number[]) => millis.map(Math.round).sort((a, b) => a - b);
      console.log(JSON.stringify({ cuts: told(cuts), kills: told(kills), pauses: told(pauses) }));
      expect({ lost, wrong, unlike }).toEqual({ lost: [], wrong: [], unlike: [] });
      expect([cuts.length, kills.length, pauses.length]).toEqual([2 * rounds, rounds, rounds]);
    } finally {
      lab.close();
    }
  },
);
