import type { HostRow, PlaceHint } from '../shared-log/directory.ts';
import { bootId, type HostId, hostId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import { databaseIdentity } from '../values/identity-roles.ts';

/** The row of a host as engines keep it: JSON, with members that all versions agree on. */
export function hostText({ host, boot, ...more }: HostRow): string {
  return JSON.stringify({ host: hostHex(host), boot: hostHex(boot), ...more });
}

/** `undefined`: no host wrote that. It concerns nobody, so that one row cannot stop all hosts. */
export function hostIn(text: string): HostRow | undefined {
  return read(() => {
    const { host, boot, ...more } = JSON.parse(text) as Omit<HostRow, 'host' | 'boot'> & {
      readonly host: string;
      readonly boot: string;
    };
    return { ...more, host: hostId(BigInt(`0x${host}`)), boot: bootId(BigInt(`0x${boot}`)) };
  });
}

/** A hint without the database that it is about, which is its key. */
export function hintText({ leader, wishes, generation, term }: PlaceHint): string {
  return JSON.stringify({
    ...{ generation, term, wishes: wishes.map(hostHex) },
    leader: leader === undefined ? null : hostHex(leader),
  });
}

/** `database`: its identity in hexadecimal digits. `undefined`: no host wrote that. */
export function hintIn(database: string, text: string): PlaceHint | undefined {
  return read(() => {
    const { generation, term, leader, wishes } = JSON.parse(text) as {
      readonly generation: number;
      readonly term: number;
      readonly leader: string | null;
      readonly wishes: readonly string[];
    };
    return {
      ...{ database: databaseIdentity(BigInt(`0x${database}`)), generation, term },
      leader: leader === null ? undefined : hostId(BigInt(`0x${leader}`)),
      wishes: wishes.map((wish) => hostId(BigInt(`0x${wish}`))),
    };
  });
}

export function hostHex(id: HostId | HostRow['boot']): string {
  return bigintToHex(id, 32);
}

function read<Row>(reading: () => Row): Row | undefined {
  try {
    return reading();
  } catch {
    return undefined;
  }
}
