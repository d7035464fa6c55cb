import { type Agent, request } from 'node:http';
import type { Delays } from './delays.ts';

/**
 * A call that is answered before it is acknowledged, a statement, one that is not confirmed, one
 * that a copy may answer, and a call that is durable.
 */
export type Asked = 'call' | 'sql' | 'unconfirmed' | 'copy' | 'durable call';

interface Round {
  readonly what: Asked;
  readonly callers: number;
  readonly calls: number;
  readonly delays: Delays;
}

/** Requests of many callers to the database `bench` at one service. */
export class HttpLoad {
  readonly #asker: Asker;
  readonly #url: string;

  constructor(asker: Asker, url: string) {
    this.#asker = asker;
    this.#url = `${url}/v1/database/bench`;
  }

  /** Resolves when the host takes requests for the database. */
  async until(what: Asked = 'sql'): Promise<void> {
    while ((await this.#ask(what)) !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
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

  /** Sends so many requests a second while `work` goes on, whatever they take. */
  async beside(what: Asked, perSecond: number, work: () => Promise<void>): Promise<void> {
    const begun = performance.now();
    const asked = new Set<Promise<void>>();
    let failure: unknown;
    let sent = 0;
    const timer = setInterval(() => {
      const due = ((performance.now() - begun) / 1_000) * perSecond;
      for (; sent < due && asked.size < besideMax; sent++) {
        const one = this.#ask(what).then(
          (status) => {
            if (status !== 200) failure ??= new Error(`${what} was answered with ${status}`);
          },
          (error: unknown) => {
            failure ??= error;
          },
        );
        asked.add(one);
        void one.then(() => asked.delete(one));
      }
    }, 5);
    try {
      await work();
    } finally {
      clearInterval(timer);
      await Promise.all(asked);
    }
    if (failure !== undefined) throw failure;
  }

  #ask(what: Asked): Promise<number> {
    const { ask } = this.#asker;
    switch (what) {
      case 'sql':
        return ask('POST', `${this.#url}/sql`, 'SELECT * FROM seat');
      case 'unconfirmed':
        return ask('POST', `${this.#url}/sql?confirmed=false`, 'SELECT * FROM seat');
      case 'copy':
        return ask('POST', `${this.#url}/sql?consistency=any`, 'SELECT * FROM seat');
      case 'call':
        return ask('POST', `${this.#url}/call/remove?confirmed=false`, '[1]');
      default:
        return ask('POST', `${this.#url}/call/add?confirmed=true`, '["a name of some letters"]');
    }
  }
}

/** As many connections as one agent of the benchmarks opens. */
const besideMax = 900;

/** Sends requests over kept connections. */
export class Asker {
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
