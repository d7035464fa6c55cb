import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import type { SeenHost } from '../shared-log/directory.ts';
import { bootId, hostId } from '../shared-log/host-ids.ts';
import { Relays } from './relays.ts';

const leaseMillis = 2_000;
const far = bootId(2n);

function seen(more: Partial<SeenHost>): SeenHost {
  return {
    ...{ host: hostId(2n), boot: far, name: 'b', address: '', clientAddress: '' },
    ...{ version: '0.1.0', formats: [1, 1], memoryBytes: 1, zone: '', state: 'up', ageMillis: 0 },
    ...more,
  };
}

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** What a host that leads knows of the one that relays, and a stream of that. */
function relayed() {
  const at = { hosts: [seen({})], silentMillis: 0, hasEnded: false };
  const relays = new Relays();
  const [stream, other] = [new PassThrough(), new PassThrough()];
  relays.add(far, stream);
  relays.add(bootId(3n), other);
  relays.begin({
    membership: {
      get hosts() {
        return at.hosts;
      },
      hasEnded: (boot) => boot === far && at.hasEnded,
    },
    silentMillis: (boot) => (boot === far ? at.silentMillis : 0),
    leaseMillis,
  });
  ends.push(() => relays.close());
  return { at, stream, other };
}

const looked = () => new Promise((resolve) => setTimeout(resolve, 600));

it('[replication 12.6, 12.7] connections end with a host that is silent', async () => {
  const { at, stream, other } = relayed();
  at.hosts = [seen({ ageMillis: leaseMillis + 1 })];
  await looked();
  // Its beats do not come through, and it answers: clients get through it.
  expect(stream.destroyed).toBe(false);
  at.silentMillis = leaseMillis + 1;
  at.hosts = [seen({})];
  await looked();
  expect(stream.destroyed).toBe(false);
  at.hosts = [seen({ ageMillis: leaseMillis + 1 })];
  await expect.poll(() => stream.destroyed).toBe(true);
  expect(other.destroyed).toBe(false);
});

it.each([
  ['says goodbye', { hosts: [seen({ state: 'gone' })] }],
  ['is known to have ended', { hasEnded: true }],
])('[replication 12.7] and with one that %s', async (_, now) => {
  const { at, stream, other } = relayed();
  Object.assign(at, now);
  await expect.poll(() => stream.destroyed).toBe(true);
  expect(other.destroyed).toBe(false);
});
