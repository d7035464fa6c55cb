import { describe, expect, it } from 'vitest';
import type { Directory, HostRow, SeenHost } from '../../src/shared-log/directory.ts';
import { bootId, hostId } from '../../src/shared-log/host-ids.ts';
import { Random } from '../../src/testing/random.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';

/** A place under test; `open` gives the directory of another process each time. */
export interface DirectoryUnderTest {
  open(): Promise<Directory>;
  /** Lets time go by, as the engine counts it. */
  pass(millis: number): Promise<void>;
  stop(): Promise<void>;
}

/** What each implementation of `Directory` promises. */
export function directoryContract(kind: string, begin: () => Promise<DirectoryUnderTest>): void {
  const within = async (use: (place: DirectoryUnderTest) => Promise<void>) => {
    const place = await begin();
    try {
      await use(place);
    } finally {
      await place.stop();
    }
  };

  describe(kind, () => {
    it('[replication 3.8, 7.1] hosts see each other, and how old their beats are', () =>
      within(async (place) => {
        const [one, other] = [await place.open(), await place.open()];
        const a = row(1, 'a');
        const b = { ...row(2, 'b'), state: 'draining' as const, zone: 'eu-1b' };
        expect(bare(await one.beat(a))).toEqual([a]);
        await place.pass(300);
        const seen = await other.beat(b);
        expect(bare(seen)).toEqual([a, b]);
        expect(ageOf(seen, 'a')).toBeGreaterThanOrEqual(300);
        expect(ageOf(seen, 'b')).toBeLessThan(300);
        expect(ageOf(await one.beat(a), 'a')).toBeLessThan(300);
        await one.forget(b.host);
        await one.forget(b.host);
        expect(bare(await one.beat(a))).toEqual([a]);
      }));

    it('[replication 3.8, 7.9] the newer boot of a host has its row, as the older sees', () =>
      within(async (place) => {
        const [one, other] = [await place.open(), await place.open()];
        const older = row(1, 'a');
        const newer = { ...older, boot: bootId(77n), address: '10.0.0.9:3001' };
        await one.beat(older);
        expect(bare(await other.beat(newer))).toEqual([newer]);
        expect(bare(await one.beat(older))).toEqual([newer]);
        expect(bare(await other.beat(newer))).toEqual([newer]);
      }));

    it('[replication 3.8, 7.4] a hint replaces the one for its database, and no other', () =>
      within(async (place) => {
        const [one, other] = [await place.open(), await place.open()];
        const hint = (database: bigint, term: number) => ({
          database: databaseIdentity(database),
          generation: 1,
          term,
          leader: term === 0 ? undefined : hostId(5n),
          wishes: term === 0 ? [] : [hostId(2n ** 128n - 1n), hostId(6n)],
        });
        expect(await one.hints()).toEqual([]);
        await one.hint([hint(2n ** 256n - 1n, 3), hint(2n, 0)]);
        await other.hint([hint(2n, 9)]);
        await other.hint([]);
        const found = [...(await one.hints())].sort((x, y) => x.term - y.term);
        expect(found).toEqual([hint(2n ** 256n - 1n, 3), hint(2n, 9)]);
      }));

    it('[replication 3.8, 7.6] a secret is put once, and everyone gets the one that was put', () =>
      within(async (place) => {
        const directories = await Promise.all([place.open(), place.open(), place.open()]);
        expect(await directories[0]?.secretBox('keys')).toBeUndefined();
        const got = await Promise.all(
          directories.map((each, at) => each.secretBox('keys', new Uint8Array([at, 2, 3]))),
        );
        expect(new Set(got.map((bytes) => Buffer.from(bytes ?? []).toString('hex'))).size).toBe(1);
        expect(await directories[2]?.secretBox('keys')).toEqual(got[0]);
        expect(await directories[2]?.secretBox('others')).toBeUndefined();
      }));
  });
}

export function row(seed: number, name: string): HostRow {
  const random = new Random(seed);
  return {
    host: hostId(random.bigint(128)),
    boot: bootId(random.bigint(128)),
    name,
    address: `10.0.0.${seed}:3001`,
    clientAddress: `http://10.0.0.${seed}:3000`,
    state: 'up',
    version: '0.1.0',
    formats: [1, 1],
    memoryBytes: 2 ** 36,
    zone: '',
  };
}

function bare(rows: readonly SeenHost[]): HostRow[] {
  const without = rows.map(({ ageMillis: _, ...host }) => host);
  return without.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function ageOf(rows: readonly SeenHost[], name: string): number {
  return rows.find((host) => host.name === name)?.ageMillis ?? Number.NaN;
}
