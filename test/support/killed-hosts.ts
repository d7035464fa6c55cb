import type { AttachedTester } from './attached-client.ts';
import { AttachedCluster } from './attached-cluster.ts';
import { roleAt, until } from './cluster-services.ts';

/** What the module has noted of connections: those that stay, and those that went. */
export interface KilledHost {
  /** Distinct lists of visits of the connections of the host that was killed. */
  readonly gone: readonly string[];
  readonly stayed: readonly string[];
  /** Answers of calls by the clients that stayed. */
  readonly answers: readonly string[];
}

/**
 * So many connections over three hosts, of which one is killed: the one that leads, or another one;
 * then those that stay call.
 */
export async function killOneOf(count: number, which: 'leader' | 'other'): Promise<KilledHost> {
  const cluster = await AttachedCluster.start();
  try {
    const { a, b, c } = cluster;
    const leader = which === 'leader' ? b : a;
    const own: bigint[] = [];
    const clients: { readonly host: 'b' | 'c'; readonly client: AttachedTester }[] = [];
    for (let at = 1; at <= count; at++) {
      const id = BigInt(at);
      const isOwn = at % 3 === 0;
      // Of the next leader nobody speaks here: its own clients are in other tests.
      const host = at % 3 === 1 && which === 'other' ? 'b' : 'c';
      if (isOwn) own.push(id);
      else clients.push({ host, client: cluster.attach(host === 'b' ? b : c, id) });
    }
    for (const id of own) await cluster.connect(a, id);
    await until(() => clients.every(({ client }) => client.connected === 1));
    await cluster.settle(a);
    await cluster.kill(which === 'leader' ? a : c);
    const isGone = ({ host }: { readonly host: string }) => which === 'other' && host === 'c';
    const goneClients = clients.filter(isGone).map(({ client }) => client.id);
    const gone = which === 'leader' ? own : goneClients;
    const left = clients.filter((one) => !isGone(one)).map(({ client }) => client);
    await until(() => roleAt(leader, cluster.identity) === 'leader');
    for (const client of left) client.call('mine', 'here');
    await until(() => left.every(({ told, ends }) => told.length + ends.length > 0));
    await cluster.untilGone(leader, gone.length);
    const visits = await cluster.visits(leader);
    const of = (ids: readonly bigint[]) => [
      ...new Set(ids.map((id) => visits.get(String(id))?.join() ?? 'nothing')),
    ];
    const ownLeft = which === 'other' ? own : [];
    return {
      gone: of(gone),
      stayed: of([...left.map(({ id }) => id), ...ownLeft]),
      answers: [...new Set(left.flatMap(({ told }) => told))],
    };
  } finally {
    await cluster.close();
  }
}
