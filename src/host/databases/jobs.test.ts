import { describe, expect, it } from 'vitest';
import type { SnapshotOutcome } from '../../database/snapshots/snapshot-outcome.ts';
import { noSnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import { limits } from '../../limits.ts';
import { callerIdentity, databaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { Jobs } from './jobs.ts';
import { SnapshotControl } from './snapshot-control.ts';

const caller = (number: bigint) =>
  ({ identity: callerIdentity(number), isAnonymous: false }) as unknown as HostCaller;
const ada = caller(1n);
const eve = caller(2n);
const operator = caller(3n);

function setUp() {
  let now = 0;
  const clock = { nowMicros: () => 0n, monotonicMillis: () => now };
  const access = {
    isOperator: ({ identity }: HostCaller) => identity === operator.identity,
    require: () => undefined,
  } as unknown as Access;
  const pass = (millis: number) => {
    now += millis;
  };
  return { jobs: new Jobs({ access, clock }), access, pass };
}

const database = databaseIdentity(7n);
const progress = () => ({ phase: 'reading', done: 3, total: 9 });
const never = () => new Promise<never>(() => undefined);

describe('[history 2.11] a job', () => {
  it('is seen by who started it and by operators, and by nobody else', () => {
    const { jobs } = setUp();
    const id = jobs.start(ada, { kind: 'snapshot', database, run: never, progress });
    const shown = { id, kind: 'snapshot', state: 'running', phase: 'reading', done: 3, total: 9 };
    expect(jobs.find(ada, id)).toMatchObject(shown);
    expect(jobs.find(operator, id)).toMatchObject(shown);
    for (const work of [() => jobs.find(eve, id), () => jobs.cancel(eve, id)]) {
      expect(work).toThrow('No such job');
    }
    const limited = { ...ada, capability: {} } as unknown as HostCaller;
    expect(() => jobs.find(limited, id)).toThrow('No such job');
  });

  it('ends with a result, an error, or cancelled, and is kept for an hour', async () => {
    const { jobs, pass } = setUp();
    const start = (run: (signal: AbortSignal) => Promise<Record<string, unknown>>) =>
      jobs.start(ada, { kind: 'snapshot', database, run, progress });
    const done = start(() => Promise.resolve({ offset: 4 }));
    const failed = start(() => Promise.reject(new Error('no space')));
    const cancelled = start(
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    );
    jobs.cancel(ada, cancelled);
    await new Promise((resolve) => setImmediate(resolve));
    expect(jobs.find(ada, done)).toMatchObject({ state: 'done', result: { offset: 4 } });
    expect(jobs.find(ada, failed)).toMatchObject({ state: 'failed', error: 'no space' });
    expect(jobs.find(ada, cancelled)).toMatchObject({ state: 'cancelled', error: undefined });
    jobs.cancel(ada, failed);
    expect(() => jobs.find(ada, failed)).toThrow('No such job');
    pass(limits.jobKeptMillis + 1);
    expect(() => jobs.find(ada, done)).toThrow('No such job');
  });

  it('takes the place of one that has ended, and is refused where all run', async () => {
    const { jobs } = setUp();
    const ended = jobs.start(ada, {
      ...{ kind: 'snapshot', database, progress },
      run: () => Promise.resolve({}),
    });
    await new Promise((resolve) => setImmediate(resolve));
    const work = { kind: 'snapshot', database, run: never, progress };
    for (let count = 0; count < limits.jobsMax; count++) jobs.start(ada, work);
    expect(() => jobs.find(ada, ended)).toThrow('No such job');
    expect(() => jobs.start(ada, work)).toThrow('64 jobs are running');
  });
});

describe('a snapshot on request', () => {
  const control = (outcome: SnapshotOutcome, isKept = true) => {
    const { jobs, access } = setUp();
    const audit = { note: () => Promise.resolve() } as unknown as AuditLog;
    const handle = {
      snapshot: () => Promise.resolve(outcome),
      statistics: () => ({ snapshots: noSnapshotFigures }),
    } as unknown as DatabaseHandle;
    const target = { identity: database, owner: ownerIdentity(1n), handle } as never;
    const snapshots = new SnapshotControl({ access, audit, jobs, isKept });
    return { jobs, take: () => snapshots.take(ada, target) };
  };

  it.each<readonly [SnapshotOutcome, object]>([
    [
      { kind: 'taken', offset: 4 as never, bytes: 9, rowCount: 2, millis: 1_500 },
      { state: 'done', result: { taken: true, offset: 4, bytes: 9, rows: 2, seconds: 1.5 } },
    ],
    [
      { kind: 'kept', offset: 4 as never },
      { state: 'done', result: { taken: false, offset: 4 } },
    ],
    [
      { kind: 'failed', message: 'no space' },
      { state: 'failed', error: 'no space' },
    ],
  ])('[history 2.11] is a job that ends with %o', async (outcome, job) => {
    const { jobs, take } = control(outcome);
    const id = await take();
    await new Promise((resolve) => setImmediate(resolve));
    expect(jobs.find(ada, id)).toMatchObject(job);
  });

  it('[history 1.6] is refused where databases are in memory', async () => {
    await expect(control({ kind: 'off' }, false).take()).rejects.toMatchObject({
      body: { code: 'history.off' },
    });
  });
});
