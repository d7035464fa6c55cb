import { Sandbox } from '../service/harness.ts';
import { LiveBridge } from '../service/live-bridge.ts';
import { type Person, Running } from '../service/running.ts';
import { writtenFrom } from '../service/written-module.ts';
import type { Send } from './agent-session.ts';
import { chatModule, ordersModule } from './modules.ts';

/** How agents reach a server: the address, or the command that their editor starts. */
export type Transport = 'http' | 'stdio';

/** All features but `read-only`, with which the tasks that write could not be done. */
export const allFeatures = [
  ...['preview', 'explain', 'logs', 'backup', 'watch', 'typed-reducers', 'whoami', 'fence'],
  'answer-schemas',
].join(',');

/** A service with the databases of the tasks, and agents that reach it. */
export class AgentsDesk {
  readonly #running: Running;
  readonly #owner: Person;
  readonly #sandbox: Sandbox;
  readonly #bridges: LiveBridge[] = [];

  private constructor(running: Running, owner: Person, sandbox: Sandbox) {
    this.#running = running;
    this.#owner = owner;
    this.#sandbox = sandbox;
  }

  static async open(): Promise<AgentsDesk> {
    const running = await Running.start();
    return new AgentsDesk(running, await running.person(), await Sandbox.make());
  }

  /** Both databases as their modules fill them. */
  async reset(): Promise<void> {
    for (const [name, source] of Object.entries({ orders: ordersModule, chat: chatModule })) {
      const program = await writtenFrom(source);
      const { status, text } = await this.#running.upload(
        name,
        program,
        this.#owner,
        '&clear=true',
      );
      if (status !== 200) throw new Error(`${name}: ${status} ${text}`);
    }
  }

  /** `database`: absent for the server of the whole host. */
  connect(transport: Transport, database: string | undefined, features = ''): Send {
    return transport === 'http'
      ? this.#overHttp(database, features)
      : this.#overStdio(database, features);
  }

  async close(): Promise<void> {
    await Promise.all(this.#bridges.map((bridge) => bridge.end()));
    this.#sandbox.remove();
    await this.#running.stop();
  }

  #overHttp(database: string | undefined, features: string): Send {
    const base = database === undefined ? '/v1/mcp' : `/v1/database/${database}/mcp`;
    const path = features === '' ? base : `${base}?features=${features}`;
    const headers = { 'content-type': 'application/json' };
    return async (body) => {
      return (await this.#running.ask('POST', path, { as: this.#owner, body, headers })).text;
    };
  }

  #overStdio(database: string | undefined, features: string): Send {
    const { host } = new URL(this.#running.service.url);
    const env = { REDUCERDB_TOKEN: `http://${this.#owner.token}@${host}` };
    const flags = features === '' ? [] : ['--features', features];
    const words = ['mcp', ...(database === undefined ? [] : [database]), ...flags];
    const bridge = new LiveBridge(this.#sandbox.spawn(words, { env }));
    this.#bridges.push(bridge);
    return async (message) => JSON.stringify(await bridge.ask(message));
  }
}
