import { expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { HistoryHolds } from './history-holds.ts';

const database = databaseIdentity(7n);

function setUp() {
  let now = 0;
  const holds = new HistoryHolds({ monotonicMillis: () => now });
  return {
    holds,
    pass: (millis: number) => {
      now += millis;
    },
  };
}

it('[history 3.7] a hold is there until it is released, and moves', () => {
  const { holds } = setUp();
  const backup = holds.add(database, { by: 'backup', fromOffset: 3 });
  const fork = holds.add(database, { by: 'fork', fromOffset: 5 });
  expect(holds.of(database)).toEqual([
    { by: 'backup', fromOffset: 3 },
    { by: 'fork', fromOffset: 5 },
  ]);
  expect(holds.of(databaseIdentity(8n))).toEqual([]);
  backup.progress(9);
  fork.release();
  expect(holds.of(database)).toEqual([{ by: 'backup', fromOffset: 9 }]);
  backup.release();
  expect(holds.of(database)).toEqual([]);
  expect(backup.isDropped).toBe(false);
});

it('[history 3.7] a hold without progress is dropped after an hour', () => {
  const { holds, pass } = setUp();
  let drops = 0;
  const hold = holds.add(database, { by: 'backup', fromOffset: 3, dropped: () => drops++ });
  pass(limits.historyHoldMillisMax);
  hold.progress();
  pass(limits.historyHoldMillisMax);
  expect(holds.of(database)).toHaveLength(1);
  pass(1);
  expect(holds.of(database)).toEqual([]);
  expect(hold.isDropped).toBe(true);
  expect(drops).toBe(1);
  hold.release();
});

it('[history 3.7] a hold can end sooner without progress', () => {
  const { holds, pass } = setUp();
  const idleMillisMax = limits.streamedHoldMillisMax;
  const hold = holds.add(database, { by: 'backup', fromOffset: 0, idleMillisMax });
  pass(idleMillisMax);
  hold.progress();
  pass(idleMillisMax);
  expect(holds.of(database)).toHaveLength(1);
  pass(1);
  expect(holds.of(database)).toEqual([]);
});

it('[history 3.7] a hold with a bound of bytes ends by them, and not by time', () => {
  const { holds, pass } = setUp();
  let drops = 0;
  holds.add(database, { by: 'archive', fromOffset: 3, bytesMax: 100, dropped: () => drops++ });
  pass(100 * limits.historyHoldMillisMax);
  holds.measured(database, [{ by: 'archive', fromOffset: 3, bytes: 100 }]);
  expect(holds.of(database)).toHaveLength(1);
  holds.measured(database, [{ by: 'archive', fromOffset: 3, bytes: 101 }]);
  expect(holds.of(database)).toEqual([]);
  expect(drops).toBe(1);
});

it('[history 3.7] the holds of a deleted database are dropped', () => {
  const { holds } = setUp();
  const hold = holds.add(database, { by: 'archive', fromOffset: 3, bytesMax: 100 });
  holds.forget(database);
  expect(hold.isDropped).toBe(true);
});

it('[history 3.21] forgetting ends backups, as far as who forgets may', () => {
  const { holds, pass } = setUp();
  const { historyHoldMillisMax } = limits;
  const dropped: string[] = [];
  const need = (who: string, endsFor: 'owner' | 'operator') => ({
    ...{ by: 'backup', fromOffset: 0, who, endsFor },
    dropped: () => void dropped.push(who),
  });
  holds.add(database, need('admin', 'owner'));
  const ofHost = holds.add(database, need('root', 'operator'));
  holds.add(database, { by: 'archive', fromOffset: 4, bytesMax: 1_000 });
  pass(1_000);
  holds.dropForgotten(database, false);
  expect(dropped).toEqual(['admin']);
  const idleMillisLeft = historyHoldMillisMax - 1_000;
  expect(holds.holders(database)).toEqual([
    { by: 'backup', fromOffset: 0, who: 'root', idleMillisLeft },
    { by: 'archive', fromOffset: 4, who: undefined, idleMillisLeft: undefined },
  ]);
  holds.dropForgotten(database, true);
  expect(ofHost.isDropped).toBe(true);
  expect(holds.of(database).map(({ by }) => by)).toEqual(['archive']);
});
