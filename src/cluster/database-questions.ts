import type { DatabaseRole } from '../host/replication/database-role.ts';
import type { LogPoint } from '../log/log-point.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import { bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { LinkClient } from './link-client.ts';

/** Where acknowledged history of a database ends, by those hosts that say so. */
export async function acknowledgedEnds(
  client: Pick<LinkClient, 'askHost'>,
  hosts: readonly Pick<SeenHost, 'address'>[],
  database: DatabaseIdentity,
): Promise<readonly LogPoint[]> {
  const path = `acknowledged/${bigintToHex(database, 64)}`;
  const asked = hosts.map(({ address }) => client.askHost(address, path).then(endIn));
  const answers = await Promise.allSettled(asked);
  return answers.flatMap((one) =>
    one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [],
  );
}

/** Whether another host could lead a database at once, as it says itself. */
export async function isReadyAt(
  client: Pick<LinkClient, 'askHost'>,
  { address }: Pick<SeenHost, 'address'>,
  database: DatabaseIdentity,
): Promise<boolean> {
  try {
    const answer = await client.askHost(address, `ready/${bigintToHex(database, 64)}`);
    return (answer as { readonly isReady?: unknown }).isReady === true;
  } catch {
    return false;
  }
}

/** Has another host look at the log of a database now; it does so by itself, a little later. */
export function wakeAt(
  client: Pick<LinkClient, 'askHost'>,
  { address }: Pick<SeenHost, 'address'>,
  database: DatabaseIdentity,
): void {
  const asked = client.askHost(address, `wake/${bigintToHex(database, 64)}`);
  asked.catch(() => undefined);
}

/** One of these questions, as another host asks it; `undefined`: it is none. */
export function databaseQuestion(path: string):
  | {
      readonly kind: 'acknowledged' | 'ready' | 'wake';
      readonly database: DatabaseIdentity;
    }
  | undefined {
  const [, kind, hex] = /^(acknowledged|ready|wake)\/([0-9a-f]{64})$/.exec(path) ?? [];
  if (kind === undefined) return undefined;
  const database = databaseIdentity(BigInt(`0x${hex}`));
  return { kind: kind as 'acknowledged' | 'ready' | 'wake', database };
}

/** As one host says it to another; `undefined`: this one does not know it. */
export function shownEnd(role: DatabaseRole | undefined): object | undefined {
  if (role?.kind !== 'follower' || role.end.offset > role.settledOffset) return undefined;
  const { position, chain, offset } = role.end;
  return { position, chain: bigintToHex(chain, 16), offset };
}

function endIn(answer: unknown): LogPoint | undefined {
  const { position, chain, offset } = answer as Readonly<Record<string, unknown>>;
  const areCounts = Number.isSafeInteger(position) && Number.isSafeInteger(offset);
  if (!areCounts || typeof chain !== 'string' || !/^[0-9a-f]{16}$/.test(chain)) return undefined;
  return { position: Number(position), chain: BigInt(`0x${chain}`), offset: Number(offset) };
}
