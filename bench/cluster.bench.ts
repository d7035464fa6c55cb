/**
 * Calls and statements at a host that follows, which it forwards to the one that leads, compared
 * with the same at the leader, by turns in one run. Hosts are processes of their own on one machine,
 * on a PostgreSQL with its standby; calls are answered before they are acknowledged, so that the
 * engine's time is no part of it.
 */
import { Agent } from 'node:http';
import { ServiceCluster } from '../test/service/cluster-support.ts';
import { tavern } from '../test/service/tavern-module.ts';
import { withoutPostgres } from '../test/support/postgres-cluster.ts';
import { Delays } from './load/delays.ts';
import { type Asked, Asker, HttpLoad } from './load/http-load.ts';
import { pausesOfMoves } from './load/planned-moves.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** Of the same run. */
  readonly baseline: number;
  readonly bar?: string;
}

/** Empty where this machine has no PostgreSQL. */
export async function benchmarks(scale: number): Promise<Figure[]> {
  if (withoutPostgres !== undefined) return [];
  const cluster = await ServiceCluster.start();
  const agent = new Agent({ keepAlive: true, maxSockets: callersMax });
  try {
    await cluster.appoint();
    const [a, b] = [await cluster.host('a'), await cluster.host('b')];
    const answer = await fetch(`${a.url}/v1/identity`, { method: 'POST' });
    const { token } = (await answer.json()) as { readonly token: string };
    const asker = new Asker(agent, token);
    await asker.ask('PUT', `${a.url}/v1/database/bench?host_type=Js`, await tavern());
    const [direct, forwarded] = [new HttpLoad(asker, a.url), new HttpLoad(asker, b.url)];
    await forwarded.until();
    const rounds = Math.max(2, Math.round(20 * scale));
    const calls = Math.max(20, Math.round(500 * scale));
    const figures: Figure[] = [];
    for (const what of ['call', 'sql'] as const) {
      for (const callers of [1, callersMax]) {
        const [one, other] = [new Delays(), new Delays()];
        const seconds = { direct: 0, forwarded: 0 };
        // By turns: what else the machine does then meets both.
        for (let round = 0; round < rounds; round++) {
          seconds.direct += await direct.run({ what, callers, calls, delays: one });
          seconds.forwarded += await forwarded.run({ what, callers, calls, delays: other });
        }
        const name = what === 'call' ? 'a forwarded call' : 'a forwarded statement';
        const beside = callers === 1 ? 'one caller' : `${callers} callers`;
        if (callers === 1) {
          figures.push({
            ...{ name: `${name}, ${beside}, p50`, unit: 'ms' },
            ...{ value: other.summary.p50, baseline: one.summary.p50 },
            bar: 'at most 0.5 ms more than direct',
          });
        } else {
          figures.push({
            ...{ name: `${name}, ${beside}`, unit: 'per second' },
            value: other.summary.count / seconds.forwarded,
            baseline: one.summary.count / seconds.direct,
            bar: 'at least 0.7 of direct',
          });
        }
      }
    }
    figures.push(...(await statements(direct, forwarded, { rounds, calls })));
    const rows = { next: 1_000 };
    const pauses = await pausesOfMoves({
      ...{ cluster, hosts: [a, b], names: ['a', 'b'], database: 'bench' },
      rounds: Math.max(2, Math.round(60 * scale)),
      call: async ({ url }) => {
        const where = `${url}/v1/database/bench/call/add`;
        const status = await asker.ask('POST', where, `[${rows.next++},"guest",1]`);
        if (status !== 200) throw new Error(`a call beside a move was answered with ${status}`);
      },
    });
    const { p50, p99 } = pauses.summary;
    const bar = { unit: 'ms', baseline: 250, bar: 'p99 at most the baseline' };
    figures.push({ name: 'planned move under load, pause, p50', ...bar, value: p50 });
    figures.push({ name: 'planned move under load, pause, p99', ...bar, value: p99 });
    return figures;
  } finally {
    agent.destroy();
    await cluster.close();
  }
}

const callersMax = 64;

interface Pace {
  readonly rounds: number;
  readonly calls: number;
}

/** What it costs that a statement is confirmed, and what a follower's own answers give. */
async function statements(leader: HttpLoad, follower: HttpLoad, pace: Pace): Promise<Figure[]> {
  const unit = 'per second';
  const [confirmed, unconfirmed] = await byTurns(leader, ['sql', 'unconfirmed'], pace);
  const [copy] = await byTurns(follower, ['copy'], pace);
  return [
    {
      ...{ name: `a confirmed statement, ${callersMax} callers`, unit, value: confirmed },
      ...{ baseline: unconfirmed, bar: 'at least 0.7 of one that is not confirmed' },
    },
    {
      ...{ name: `a statement that a follower answers, ${callersMax} callers`, unit },
      ...{ value: copy, baseline: unconfirmed },
    },
  ];
}

/** Requests per second of many callers at one host, of each kind. */
async function byTurns(
  load: HttpLoad,
  kinds: readonly Asked[],
  { rounds, calls }: Pace,
): Promise<readonly [number, number]> {
  const seconds = kinds.map(() => 0);
  for (let round = 0; round < rounds; round++) {
    for (const [at, what] of kinds.entries()) {
      const took = await load.run({ what, callers: callersMax, calls, delays: new Delays() });
      seconds[at] = (seconds[at] ?? 0) + took;
    }
  }
  const [one = 1, other = 1] = seconds.map((all) => (rounds * calls) / all);
  return [one, other];
}
