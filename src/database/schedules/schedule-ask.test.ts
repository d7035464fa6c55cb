import { expect, it } from 'vitest';
import { ItemDatabase } from '../../../test/support/item-database.ts';
import { ownerRights } from '../../sql/rights.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { ScheduleAsk, ScheduleOutcome } from './schedule-ask.ts';

const caller = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };

it.each<readonly [ScheduleAsk, ScheduleOutcome]>([
  [{ kind: 'list' }, { kind: 'listed', schedules: [] }],
  [{ kind: 'pause' }, { kind: 'applied', names: [] }],
  [{ kind: 'run' }, { kind: 'applied', names: [] }],
  [{ kind: 'skip', name: 'item', rowKey: 0n }, { kind: 'unknown' }],
  [{ kind: 'resume', name: 'item' }, { kind: 'unknown' }],
])('a database without schedules answers %o', async (ask, outcome) => {
  const items = await ItemDatabase.open(1);
  const reply = await items.request({ kind: 'schedules', caller, ask });
  expect(reply).toEqual({ kind: 'schedules', outcome });
});
