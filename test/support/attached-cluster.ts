import { createServer } from 'node:net';
import type { RequestCaller } from '../../src/auth/caller.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ask, type Caller, newCaller } from './asking.ts';
import { AttachedTester, settledCaller } from './attached-client.ts';
import { buildText } from './build-text.ts';
import {
  type ClusterService,
  ClusterServices,
  follows,
  identityOf,
  kill,
  until,
} from './cluster-services.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { lifecycleReducers, shopModule } from './shop-module.ts';

/** Notes who comes and goes, and who has called. */
const module = shopModule({
  more: `${lifecycleReducers}
export const mine = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.item.insert({ id: 0n, text: text + ' by ' + ctx.connectionId.__connection_id__ });
});`,
  tables: 'item, secret, visit',
});

/** Three hosts of a cluster, and a database: `a` leads it, `b` follows, and `c`, which never leads. */
export class AttachedCluster {
  readonly services: ClusterServices;
  readonly a: ClusterService;
  readonly b: ClusterService;
  readonly c: ClusterService;
  /** Between `a` and the others. */
  readonly proxy: CuttingProxy;
  readonly identity: DatabaseIdentity;
  readonly owner: Caller;
  readonly caller: RequestCaller;

  private constructor(
    parts: Pick<
      AttachedCluster,
      'services' | 'a' | 'b' | 'c' | 'proxy' | 'identity' | 'owner' | 'caller'
    >,
  ) {
    this.services = parts.services;
    this.a = parts.a;
    this.b = parts.b;
    this.c = parts.c;
    this.proxy = parts.proxy;
    this.identity = parts.identity;
    this.owner = parts.owner;
    this.caller = parts.caller;
  }

  static async start(): Promise<AttachedCluster> {
    const services = new ClusterServices();
    const port = await freePort();
    const proxy = await CuttingProxy.to(port);
    try {
      const link = { port, advertise: `127.0.0.1:${proxy.port}` };
      const a = await services.start('a', {}, (log) => log, link);
      const [b, c] = [await services.start('b'), await services.start('c')];
      const owner = await newCaller(a);
      const body = new Uint8Array((await buildText(module)).bytes);
      const where = '/v1/database/shop?host_type=Js';
      const { text } = await ask(a, 'PUT', where, { as: owner, body });
      if (!text.includes('"Success"')) throw new Error(text);
      const identity = identityOf(a, 'shop');
      for (const host of [b, c]) await follows(host, a, identity);
      await c.part.membership.drain(true);
      const caller = await settledCaller(a);
      return new AttachedCluster({ services, a, b, c, proxy, identity, owner, caller });
    } catch (error) {
      await proxy.stop();
      await services.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.proxy.stop();
    await this.services.close();
  }

  attach(at: ClusterService, id: bigint, as: RequestCaller = this.caller): AttachedTester {
    return new AttachedTester(at, this.identity, { id, caller: as });
  }

  /** One that is connected already, as its host has it. */
  announce(at: ClusterService, id: bigint): AttachedTester {
    const { caller, identity } = this;
    return new AttachedTester(at, identity, { id, caller, isConnected: true });
  }

  /** A connection of the leader itself. */
  async connect({ service }: ClusterService, id: bigint): Promise<void> {
    const { handle, ...database } = service.host.database('shop');
    const caller = service.host.callerFor(this.caller, database);
    const { kind } = await handle.connect(caller, connectionNumber(id));
    if (kind !== 'connected') throw new Error(kind);
  }

  /** Resolves when everything so far is acknowledged. */
  async settle(at: ClusterService): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const where = `/v1/database/${identityToHex(this.identity)}/call/add`;
    const asked = { as: this.owner, body: '["settled"]', headers };
    const { status, text } = await ask(at, 'POST', where, asked);
    if (status !== 200) throw new Error(text);
  }

  /** Ends a host as the end of its machine does. */
  async kill(host: ClusterService): Promise<void> {
    this.services.engine.cut(host.name);
    await kill(host, this.identity);
  }

  async rows(at: ClusterService, sql: string): Promise<unknown[][]> {
    const where = `/v1/database/${identityToHex(this.identity)}/sql`;
    const { text } = await ask(at, 'POST', where, { as: this.owner, body: sql });
    const [answer] = JSON.parse(text) as [{ readonly rows: unknown[][] }];
    return answer.rows;
  }

  async texts(at: ClusterService): Promise<string[]> {
    return (await this.rows(at, 'SELECT text FROM item')).map(([text]) => String(text));
  }

  /** Visits of each connection, in order. */
  async visits(at: ClusterService): Promise<Map<string, string[]>> {
    const found = new Map<string, string[]>();
    const rows = await this.rows(at, 'SELECT id, kind, connection FROM visit');
    for (const [, kind, id] of rows.sort(([one], [other]) => Number(one) - Number(other))) {
      // Reads by HTTP come and go, too, with ids that were drawn.
      if (Number(id) > 1_000_000) continue;
      found.set(String(id), [...(found.get(String(id)) ?? []), String(kind)]);
    }
    return found;
  }

  async visitsOf(at: ClusterService, id: bigint): Promise<string[]> {
    return (await this.visits(at)).get(String(id)) ?? [];
  }

  /** Resolves when so many connections have been disconnected. */
  async untilGone(at: ClusterService, count: number): Promise<void> {
    await until(async () => {
      const kinds = [...(await this.visits(at)).values()].flat();
      return kinds.filter((kind) => kind === 'disconnected').length >= count;
    });
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
