import type { ServiceCluster } from '../../test/service/cluster-support.ts';
import type { RunningService } from '../../test/service/harness.ts';
import { Delays } from './delays.ts';

export interface PlannedMoves {
  readonly cluster: ServiceCluster;
  readonly hosts: readonly [RunningService, RunningService];
  readonly names: readonly [string, string];
  readonly database: string;
  /** Makes one confirmed call at a host; rejects unless it is acknowledged. */
  readonly call: (host: RunningService) => Promise<void>;
  readonly rounds: number;
}

const callersAtEach = 4;
/** Acknowledged calls between two moves. */
const callsBetween = 100;

/**
 * Moves a database to and fro while callers at both hosts write to it. Gives the longest time
 * around each move in which no call was acknowledged.
 */
export async function pausesOfMoves(plan: PlannedMoves): Promise<Delays> {
  const { cluster, hosts, names, database, call, rounds } = plan;
  const acknowledged: number[] = [];
  let isOver = false;
  const caller = async (host: RunningService): Promise<void> => {
    while (!isOver) {
      await call(host);
      acknowledged.push(performance.now());
    }
  };
  const load = Promise.all(
    hosts.flatMap((host) => Array.from({ length: callersAtEach }, () => caller(host))),
  );
  const pauses = new Delays();
  const moving = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await more(acknowledged);
      const first = acknowledged.length;
      const body = { host: names[(round + 1) % 2] ?? '' };
      const where = `/v1/cluster/databases/${database}/move`;
      // Who has led a moment ago has to read its log again, and load the program.
      while ((await cluster.operate(hosts[0], where, body)) !== 200) await pause(20);
      await more(acknowledged);
      const times = acknowledged.slice(Math.max(0, first - 1));
      const gaps = times.slice(1).map((at, before) => at - (times[before] ?? at));
      pauses.add(Math.max(...gaps) * 1_000);
    }
    isOver = true;
  };
  await Promise.all([load, moving()]);
  return pauses;
}

async function more(acknowledged: readonly unknown[]): Promise<void> {
  const { length } = acknowledged;
  while (acknowledged.length < length + callsBetween) await pause(5);
}

function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
