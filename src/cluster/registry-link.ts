import type { ReplicationControl } from '../host/databases/replication-control.ts';
import type { RegistryAnswer, RegistryChange } from '../host/replication/registry-change.ts';
import { limits } from '../limits.ts';
import type { LinkClient } from './link-client.ts';

/** The registry as this host has it. */
export type RegistryControl = Pick<
  ReplicationControl,
  'changeRegistry' | 'registryOffset' | 'untilRegistry'
>;

const changePath = 'registry/change';
const offsetPattern = /^registry\/(\d{1,15})$/;

/** Has the host at an address, which leads the registry, change it. */
export async function changeRegistryAt(
  client: LinkClient,
  address: string,
  { reducer, args, after }: RegistryChange,
): Promise<RegistryAnswer> {
  const body = JSON.stringify({ reducer, args: Buffer.from(args).toString('base64'), after });
  try {
    const answer = await client.askHost(address, changePath, {
      body,
      millisMax: limits.waitLeaderMillis,
    });
    return answer as RegistryAnswer;
  } catch (error) {
    const isNotSent = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    if (isNotSent) return { kind: 'notLeader' };
    throw error;
  }
}

/** Resolves when the hosts at these addresses have the registry up to `offset`, or are too late. */
export async function untilCopiedAt(
  client: LinkClient,
  addresses: readonly string[],
  offset: number,
): Promise<void> {
  const millisMax = limits.leaseMillis;
  const asked = addresses.map((address) =>
    client.askHost(address, `registry/${offset}`, { millisMax }),
  );
  await Promise.allSettled(asked);
}

/** What another host asks of the registry of this one; `undefined`: it asks for something else. */
export function answerOfRegistry(
  registry: RegistryControl | undefined,
  path: string,
  body: string | undefined,
): Promise<unknown> | undefined {
  const [, offset] = offsetPattern.exec(path) ?? [];
  if (offset !== undefined) return hasCopied(registry, Number(offset));
  if (path !== changePath || body === undefined) return undefined;
  return changed(registry, body);
}

async function hasCopied(registry: RegistryControl | undefined, offset: number) {
  return { has: (await registry?.untilRegistry(offset, limits.leaseMillis)) ?? false };
}

async function changed(
  registry: RegistryControl | undefined,
  body: string,
): Promise<RegistryAnswer> {
  const { reducer, args, after } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const isChange = typeof reducer === 'string' && typeof args === 'string';
  if (!isChange || !Number.isSafeInteger(after) || registry === undefined) {
    return { kind: 'notLeader' };
  }
  const bytes = new Uint8Array(Buffer.from(args, 'base64'));
  return registry.changeRegistry({ reducer, args: bytes, after: Number(after) });
}
