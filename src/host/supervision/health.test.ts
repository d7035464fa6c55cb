import { describe, expect, it } from 'vitest';
import {
  createTiny,
  putName,
  tinyDatabase,
  tinyOwner,
} from '../../../test/support/tiny-database.ts';
import { noSnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import { spanCount } from '../../database/time-counts.ts';
import { limits } from '../../limits.ts';
import { ownerRights } from '../../sql/rights.ts';
import { SimulatedDisk } from '../../testing/simulated-disk.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { encodeValue } from '../../values/encode.ts';
import { asCaller } from '../../values/identity-roles.ts';
import type { LiveEvent } from '../feeds/live-connection.ts';
import { registryReducers } from '../registry/registry-module.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import { healthOf } from './health.ts';

const nothing = { requestMillis: 0, undurableMillis: 0, fanOutMillis: 0, scheduleMillis: 0 };
const { healthWaitMillisMax, healthFanOutMillisMax, healthScheduleMillisMax } = limits;

const is = (state: DatabaseStatistics['state'], isReadOnly = false) => ({
  ...{ state, isReadOnly, isPaused: false, unreadable: [], snapshots: noSnapshotFigures },
});

describe('the health of a database', () => {
  it('[living 1.16] is fine while nothing waits for longer than its bound', () => {
    expect(healthOf(is('serving'), nothing).isFine).toBe(true);
    expect(healthOf(is('closed'), nothing).isFine).toBe(true);
    const most = {
      requestMillis: healthWaitMillisMax,
      undurableMillis: healthWaitMillisMax,
      fanOutMillis: healthFanOutMillisMax,
      scheduleMillis: healthScheduleMillisMax,
    };
    expect(healthOf(is('serving'), most).isFine).toBe(true);
  });

  it.each([
    ['opened', healthOf(is('opening'), nothing)],
    ['opened', healthOf(is('broken'), nothing)],
    ['commits', healthOf(is('serving'), { ...nothing, requestMillis: healthWaitMillisMax + 1 })],
    [
      'durability',
      healthOf(is('serving'), { ...nothing, undurableMillis: healthWaitMillisMax + 1 }),
    ],
    ['durability', healthOf(is('serving', true), nothing)],
    ['fanOut', healthOf(is('serving'), { ...nothing, fanOutMillis: healthFanOutMillisMax + 1 })],
    [
      'schedules',
      healthOf(is('serving'), { ...nothing, scheduleMillis: healthScheduleMillisMax + 1 }),
    ],
    [
      'snapshots',
      healthOf(
        { ...is('serving'), snapshots: { ...noSnapshotFigures, failuresInRow: 3 } },
        nothing,
      ),
    ],
    ['secrets', healthOf({ ...is('serving'), unreadable: ['KEY'] }, nothing)],
  ] as const)('[living 1.16] is not when %s is not, and says which part', (name, health) => {
    const { isFine, ...parts } = health;
    expect(isFine).toBe(false);
    const failing = Object.entries(parts).filter(([, part]) => !part.isFine);
    expect(failing.map(([part]) => part)).toEqual([name]);
  });
});

describe('a database whose disk holds a sync back', () => {
  it('[living 1.16] has commits that are not durable, until they are', async () => {
    const disk = new SimulatedDisk();
    const clock = new TestClock();
    const database = tinyDatabase(disk, createTiny, undefined, [], { clock });
    await database.started();
    expect(database.health()).toMatchObject({ isFine: true, durability: { waitingMillis: 0 } });
    let release = (): void => undefined;
    disk.beforeSync = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    await putName(database, 'first', false);
    clock.advance(healthWaitMillisMax - 1);
    const second = putName(database, 'second', true);
    await putName(database, 'third', false);
    expect(database.health().isFine).toBe(true);
    clock.advance(2);
    expect(database.health()).toMatchObject({
      isFine: false,
      // Turns went on meanwhile.
      commits: { isFine: true },
      durability: { isFine: false, waitingMillis: healthWaitMillisMax + 1 },
    });
    disk.beforeSync = () => Promise.resolve();
    release();
    await second;
    expect(database.health()).toMatchObject({ isFine: true, durability: { waitingMillis: 0 } });
    await database.close();
    expect(database.health()).toMatchObject({ isFine: false, opened: { state: 'stopped' } });
  });
});

describe('answers of a connection that has left', () => {
  it('[operating] are counted', async () => {
    const database = tinyDatabase(new SimulatedDisk(), createTiny);
    await database.started();
    const caller = { identity: asCaller(tinyOwner), rights: ownerRights, jwtPayload: '' };
    const events: LiveEvent[] = [];
    const sink = { deliver: (more: readonly LiveEvent[]) => events.push(...more), ended: noEnd };
    const live = database.live(
      { caller, connectionId: connectionNumber(9n), confirmed: true },
      sink,
    );
    await expect.poll(() => events).toMatchObject([{ kind: 'connected' }]);
    const args = encodeValue(registryReducers.put_name, ['left', 1n, 2n]);
    const call = { kind: 'call', reducer: 'put_name', args, schemaVersion: undefined } as const;
    live.send({ ...call, requestId: 1, isCaller: true });
    live.close();
    await database.close();
    const { answers } = database.vitals();
    const ok = answers.find((one) => one.operation === 'call' && one.outcome === 'ok');
    expect(spanCount(ok?.times ?? [])).toBe(1);
  });
});

const noEnd = () => undefined;
