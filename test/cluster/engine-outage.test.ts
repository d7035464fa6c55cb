import { afterEach, beforeEach, expect, it } from 'vitest';
import { EngineWatch } from '../../src/cluster/engine-watch.ts';
import { limits } from '../../src/limits.ts';
import { ClusterHosts } from '../support/cluster-hosts.ts';

let hosts: ClusterHosts;
beforeEach(() => {
  hosts = new ClusterHosts('local');
});
afterEach(() => hosts.close());

it('[replication 13.2] a host that starts without the engine says what it waits for', async () => {
  await hosts.start('a');
  hosts.engine.cut('b');
  const { host, opened } = hosts.starting('b');
  const lines = () => host.reports.map(({ message }) => message).join('\n');
  await expect
    .poll(lines, { timeout: 6 * limits.startWaitTellMillis })
    .toMatch(/The host is not ready: it waits \d+ s for the registry's log; the engine answers/);
  hosts.engine.heal('b');
  await opened;
});

it('[replication 15.1] an engine that acknowledges nothing for 2 s is away, and is back with the next commit', async () => {
  let answers = true;
  let probes = 0;
  const lines: string[] = [];
  const watch = new EngineWatch({
    probe: async () => {
      probes += 1;
      return answers;
    },
    trouble: async () => 'no standby acknowledges',
    now: () => performance.now(),
    report: ({ message }) => void lines.push(message),
  });
  const changes: boolean[] = [];
  watch.onChange(() => changes.push(watch.isAway));
  try {
    watch.start();
    await expect.poll(() => probes).toBeGreaterThan(2);
    answers = false;
    await expect.poll(() => watch.isAway).toBe(true);
    await expect.poll(() => watch.trouble).toBe('no standby acknowledges');
    expect(await watch.answers(1_000)).toBe(false);
    // A commit that was begun before says nothing of now.
    watch.acknowledged(performance.now() - 2 * limits.readyEngineMillisMax);
    expect(watch.isAway).toBe(true);
    answers = true;
    await expect.poll(() => watch.isAway).toBe(false);
    expect(changes).toEqual([true, false]);
    expect(lines).toEqual([
      expect.stringMatching(/takes no commits: no standby acknowledges.*database\.noEngine/),
      'the engine of the cluster takes commits',
    ]);
  } finally {
    watch.close();
  }
});
