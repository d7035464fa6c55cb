import { beforeEach, describe, expect, it } from 'vitest';
import { type Caller, Refusal } from '../../database/outcome.ts';
import { ownerRights } from '../../database/rights.ts';
import type { ScheduleAsk, ScheduleOutcome } from '../../database/schedules/schedule-ask.ts';
import { MachineClock } from '../../node/clock.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import { MemoryLines } from '../../node/synced-lines.ts';
import {
  asCaller,
  callerIdentity,
  databaseIdentity,
  ownerIdentity,
} from '../../values/identity-roles.ts';
import { Access } from '../registry/access.ts';
import { AuditLog } from '../registry/audit-log.ts';
import { DatabaseFiles } from '../registry/database-files.ts';
import { KnownSchedules } from '../registry/known-schedules.ts';
import { openRegistry } from '../registry/open-registry.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { ScheduleControl, type ScheduleOrder, type ScheduleTarget } from './schedule-control.ts';

const owner = ownerIdentity(7n);
const identity = databaseIdentity(5n);
const record = {
  ...{ identity, owner, hostType: 'js' as const, initialProgram: 'x', createdMicros: 2n },
  isLocked: false,
} as const;
const by = { identity: asCaller(owner), payload: '', isAnonymous: false };

let control: ScheduleControl;
let known: KnownSchedules;
let audit: AuditLog;
/** What the database was asked, and whether it was known as paused at that moment. */
let asked: [ScheduleAsk, boolean][];
let answer: () => Promise<ScheduleOutcome>;

beforeEach(async () => {
  const clock = new MachineClock();
  const report = () => undefined;
  const options = { clock, entropy: new MachineEntropy(), report };
  const registry = await openRegistry(options, new DatabaseFiles(undefined));
  asked = [];
  answer = () => Promise.resolve({ kind: 'applied', names: ['job'] });
  audit = new AuditLog({ ...options, lines: new MemoryLines(100) });
  const access = new Access({ registry, creators: 'anyone', operators: [], audit });
  known = new KnownSchedules(registry);
  control = new ScheduleControl({ access, audit, schedules: known });
});

const caller = { identity: by.identity, rights: ownerRights, jwtPayload: '' };
const target = (): ScheduleTarget => ({
  caller,
  database: {
    ...record,
    handle: {
      schedules: (_: Caller, ask: ScheduleAsk) => {
        asked.push([ask, known.stateOf(identity).isPaused]);
        return answer();
      },
    } as DatabaseHandle,
  },
});

const notes = async () => (await audit.tail(100)).map((line) => JSON.parse(line));

describe('an order about schedules', () => {
  it.each<ScheduleOrder>([
    { kind: 'run', name: 'job', rowKey: 3n },
    { kind: 'skip', name: 'job' },
    { kind: 'pause', name: 'job' },
    { kind: 'resume', name: 'job' },
  ])('[living 1.14] is given to the database and noted: %o', async (order) => {
    expect(await control.apply(by, target(), order)).toEqual(['job']);
    expect(asked).toEqual([[order, false]]);
    const { kind, name } = order;
    expect(await notes()).toMatchObject([
      { action: `${kind} schedule`, outcome: 'done', schedule: name },
    ]);
    expect(JSON.stringify(await notes())).not.toContain('3n');
    expect(known.stateOf(identity).isPaused).toBe(false);
  });

  it('[living 1.14] about all of them is known before the database is told', async () => {
    await control.apply(by, target(), { kind: 'pause' });
    await control.apply(by, target(), { kind: 'resume' });
    expect(asked).toEqual([
      [{ kind: 'pause' }, true],
      [{ kind: 'resume' }, false],
    ]);
  });

  it('[living 1.14] to pause all holds where the database does not serve', async () => {
    answer = () => Promise.reject(new Refusal({ code: 'database.broken', message: 'broken' }));
    const paused = control.apply(by, target(), { kind: 'pause' });
    await expect(paused).rejects.toMatchObject({ body: { code: 'database.broken' } });
    expect(known.stateOf(identity).isPaused).toBe(true);
  });

  it.each<[ScheduleOrder, ScheduleOutcome, string, string]>([
    [{ kind: 'run', name: 'x' }, { kind: 'unknown' }, 'unknown', 'There is no schedule `x`'],
    [
      { kind: 'skip', name: 'x', rowKey: 2n },
      { kind: 'unknown' },
      'unknown',
      'The schedule `x` has no row 2 with a run to come',
    ],
    [
      { kind: 'run', name: 'x' },
      { kind: 'paused' },
      'paused',
      'The schedule `x` is paused. Resume it before you run it',
    ],
    [
      { kind: 'run' },
      { kind: 'paused' },
      'paused',
      'The schedules are paused. Resume them before you run them',
    ],
  ])('[living 1.14] is refused: %o, %o', async (order, outcome, fault, message) => {
    answer = () => Promise.resolve(outcome);
    const applied = control.apply(by, target(), order);
    await expect(applied).rejects.toMatchObject({ body: { code: `schedule.${fault}`, message } });
    expect(await notes()).toEqual([]);
  });

  it('[living 1.14] is for developers, as is the list', async () => {
    const stranger = { identity: callerIdentity(9n), payload: '', isAnonymous: false };
    const code = 'caller.notAuthorized';
    const order = control.apply(stranger, target(), { kind: 'pause' });
    await expect(order).rejects.toMatchObject({ body: { code } });
    await expect(control.list(stranger, target())).rejects.toMatchObject({ body: { code } });
    expect([asked, known.stateOf(identity).isPaused]).toEqual([[], false]);
  });
});

it('[living 1.14] the list says whether all are paused', async () => {
  answer = () => Promise.resolve({ kind: 'listed', schedules: [] });
  expect(await control.list(by, target())).toEqual({ isPaused: false, schedules: [] });
  await known.setPaused(identity, true);
  expect(await control.list(by, target())).toEqual({ isPaused: true, schedules: [] });
});
