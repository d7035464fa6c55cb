import { expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { clusterKillRounds } from './cluster-kill-rounds.ts';

it.skipIf(withoutPostgres !== undefined)(
  '[replication 17.5] a leader that is killed, or stopped, takes nothing acknowledged along',
  async () => {
    const { acknowledged, kills, pauses, lost, wrong, unlike } = await clusterKillRounds({
      kills: 2,
      pauses: 1,
    });
    const told = (millis: readonly number[]) => millis.map(Math.round).join(', ');
    console.log(`writes back after kills: ${told(kills)} ms, after a pause: ${told(pauses)} ms`);
    expect({ lost, wrong, unlike }).toEqual({ lost: [], wrong: [], unlike: [] });
    expect(acknowledged).toBeGreaterThan(100);
    expect([kills.length, pauses.length]).toEqual([2, 1]);
  },
  300_000,
);
