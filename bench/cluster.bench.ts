/**
 * Calls and statements at a host that follows, which it forwards to the one that leads, compared
 * with the same at the leader, by turns in one run. Hosts are processes of their own on one machine,
 * on a PostgreSQL with its standby; calls are answered before they are acknowledged, so that the
 * engine's time is no part of it.
 */
import { Agent, request } from 'node:http';
import { ServiceCluster } from '../test/service/cluster-support.ts';
import { tavern } from '../test/service/tavern-module.ts';
import { withoutPostgres } from '../test/support/postgres-cluster.ts';
import { Delays } from './load/delays.ts';

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
    const [a, b] = [await cluster.host('a'), await cluster.host('b')];
    const answer = await fetch(`${a.url}/v1/identity`, { method: 'POST' });
    const { token } = (await answer.json()) as { readonly token: string };
    const asker = new Asker(agent, token);
    await asker.ask('PUT', `${a.url}/v1/database/bench?host_type=Js`, await tavern());
    const [direct, forwarded] = [new Load(asker, a.url), new Load(asker, b.url)];
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
    return figures;
  } finally {
    agent.destroy();
    await cluster.close();
  }
}

const callersMax = 64;

interface Round {
  readonly what: 'call' | 'sql';
  readonly callers: number;
  readonly calls: number;
  readonly delays: Delays;
}

/** Requests to one host. */
class Load {
  readonly #asker: Asker;
  readonly #url: string;

  constructor(asker: Asker, url: string) {
    this.#asker = asker;
    this.#url = `${url}/v1/database/bench`;
  }

  /** Resolves when the host takes requests for the database. */
  async until(): Promise<void> {
    while ((await this.#ask('sql')) !== 200)
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Returns the seconds that it took. */
  async run({ what, callers, calls, delays }: Round): Promise<number> {
    const begun = performance.now();
    let left = calls;
    const caller = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const asked = performance.now();
        const status = await this.#ask(what);
        if (status !== 200) throw new Error(`${what} was answered with ${status}`);
        delays.add((performance.now() - asked) * 1_000);
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return (performance.now() - begun) / 1_000;
  }

  #ask(what: Round['what']): Promise<number> {
    const { ask } = this.#asker;
    if (what === 'sql') return ask('POST', `${this.#url}/sql`, 'SELECT * FROM seat');
    return ask('POST', `${this.#url}/call/remove?confirmed=false`, '[1]');
  }
}

class Asker {
  readonly #agent: Agent;
  readonly #token: string;

  constructor(agent: Agent, token: string) {
    this.#agent = agent;
    this.#token = token;
  }

  readonly ask = (method: string, url: string, body: string | Uint8Array): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${this.#token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      const asked = request(url, { method, headers, agent: this.#agent }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode ?? 0));
      });
      asked.once('error', reject);
      asked.end(body);
    });
}
