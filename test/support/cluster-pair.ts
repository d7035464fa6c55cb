import type { GivenConfiguration } from '../../src/service/configuration.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ask, type Caller, newCaller } from './asking.ts';
import { type ClusterService, ClusterServices, follows, identityOf } from './cluster-services.ts';

/** Two hosts of a cluster, and a database of one caller: `a` leads it at first, `b` follows it. */
export interface ClusterPair {
  readonly services: ClusterServices;
  readonly a: ClusterService;
  readonly b: ClusterService;
  readonly owner: Caller;
  readonly identity: DatabaseIdentity;
}

export async function startPair(
  name: string,
  body: Uint8Array<ArrayBuffer>,
  given: GivenConfiguration = {},
  services: ClusterServices = new ClusterServices(),
): Promise<ClusterPair> {
  try {
    const [a, b] = [await services.start('a', given), await services.start('b', given)];
    const owner = await newCaller(a);
    const where = `/v1/database/${name}?host_type=Js`;
    const { text } = await ask(a, 'PUT', where, { as: owner, body });
    if (!text.includes('"Success"')) throw new Error(text);
    const identity = identityOf(a, name);
    await follows(b, a, identity);
    return { services, a, b, owner, identity };
  } catch (error) {
    await services.close();
    throw error;
  }
}
