import { expect, it } from 'vitest';
import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import { bootId, hostId } from '../shared-log/host-ids.ts';
import { ClockCare } from './clock-care.ts';

const me = hostId(1n);

function seen(id: bigint, state: SeenHost['state'] = 'up'): SeenHost {
  return {
    ...{ host: hostId(id), boot: bootId(id), name: `h${id}`, address: '', clientAddress: '' },
    ...{ version: '0.1.0', formats: [1, 1], memoryBytes: 1, zone: '', state, ageMillis: 0 },
  };
}

function care(living: readonly SeenHost[]) {
  const at = { skewMillis: 0, now: 0, leads: true, moves: 0 };
  const one = new ClockCare({
    membership: {
      get skewMillis() {
        return at.skewMillis;
      },
      living,
    },
    ...{ me, now: () => at.now, leads: () => at.leads },
    moving: {
      moveAll: async () => {
        at.moves++;
        return [];
      },
    },
  });
  return { at, one };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('[replication 12.5] a leader whose clock is off by 10 s gives its databases away', async () => {
  const { at, one } = care([seen(1n), seen(2n)]);
  at.skewMillis = -limits.clockSkewClaimMillisMax;
  one.look();
  expect([one.isOff, at.moves]).toEqual([false, 0]);
  at.skewMillis -= 1;
  one.look();
  await settled();
  one.look();
  expect([one.isOff, at.moves]).toEqual([true, 1]);
  at.now += limits.clockMoveAgainMillis;
  one.look();
  await settled();
  expect(at.moves).toBe(2);
});

it('[replication 12.5] not while nobody takes them, nor while it leads none', async () => {
  const alone = care([seen(1n), seen(2n, 'draining')]);
  alone.at.skewMillis = 11_000;
  alone.one.look();
  const { at, one } = care([seen(1n), seen(2n)]);
  at.skewMillis = 11_000;
  at.leads = false;
  one.look();
  at.leads = true;
  one.stop();
  one.look();
  await settled();
  expect([alone.at.moves, at.moves]).toEqual([0, 0]);
});
