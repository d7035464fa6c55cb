import { ClusterError } from '../cluster/cluster-error.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import type { KeyOrders, ShownKey } from '../cluster/key-orders.ts';
import { type ClusterDesk, ClusterRefusal, type ShownClusterKey } from '../http/cluster-desk.ts';

/** What the doors do with the keys of a cluster; `countSealedBy`: of the secrets of databases. */
export function keyDesk(
  part: ClusterPart,
  countSealedBy: (fingerprint: string) => number,
): Pick<ClusterDesk, 'keys' | 'rotateKeys' | 'retireKey' | 'rotateSecret'> {
  return {
    keys: () => ordered(part, shownKeys),
    rotateKeys: ({ retire, secrets }) =>
      ordered(part, (orders) =>
        secrets ? orders.rotateSecretsKey() : orders.rotateSigning(retire),
      ),
    retireKey: ({ number, secrets }) =>
      ordered(part, async (orders) => {
        const { secrets: ofSecrets, signing } = await orders.shown();
        const key = (secrets ? ofSecrets : signing).find((one) => one.number === number);
        if (key === undefined) throw new ClusterRefusal(404, `There is no old key ${number}.`);
        const count = secrets ? countSealedBy(key.fingerprint) : 0;
        if (count > 0) throw new ClusterRefusal(409, stillSealedText(count, number));
        if (secrets) await orders.retireSecretsKey(number);
        else await orders.retireSigning((one) => one === number);
      }),
    rotateSecret: () => ordered(part, (orders) => orders.rotateSecret()),
  };
}

function stillSealedText(count: number, number: number): string {
  const secrets = count === 1 ? '1 secret is' : `${count} secrets are`;
  return (
    `${secrets} still encrypted with key ${number}. The hosts encrypt them with the new one: ` +
    'wait, and try again.'
  );
}

async function shownKeys(orders: KeyOrders): ReturnType<ClusterDesk['keys']> {
  const { revision, signing, secrets, secret, hosts } = await orders.shown();
  return {
    ...{ revision, secret, signing: signing.map(shownKey), secrets: secrets.map(shownKey) },
    hosts: hosts.map(({ name, isLiving, state }) => ({
      ...{ host: name, is_living: isLiving },
      ...{ revision: state?.revision ?? null, secrets: state?.secrets ?? null },
    })),
  };
}

function shownKey({ number, sinceMillis, ...key }: ShownKey): ShownClusterKey {
  const since = sinceMillis === 0 ? null : new Date(sinceMillis).toISOString();
  return { ...key, number: number ?? null, since };
}

async function ordered<Result>(
  { operations }: ClusterPart,
  work: (orders: KeyOrders) => Promise<Result>,
): Promise<Result> {
  if (operations?.keys === undefined) throw new ClusterRefusal(503, 'This host still starts.');
  try {
    return await work(operations.keys);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    throw new ClusterRefusal(409, `${error.message.replace(/\.$/, '')}.`);
  }
}
