import { describe, expect, it } from 'vitest';
import { Refusal } from '../../database/outcome.ts';
import type { SnapshotOutcome } from '../../database/snapshots/snapshot-outcome.ts';
import { noSnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import { limits } from '../../limits.ts';
import { callerIdentity, databaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import { registryIdentity } from '../registry/registry.ts';
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

  it('is refused where as many of one caller, of one database, or of all run', () => {
    const { jobs } = setUp();
    const work = (of: bigint) => {
      return { kind: 'verify', database: databaseIdentity(of), run: never, progress };
    };
    for (let at = 0; at < limits.callerJobsMax; at++) jobs.start(ada, work(BigInt(100 + at)));
    const refused = (by: HostCaller, of: bigint) => {
      try {
        jobs.start(by, work(of));
        return undefined;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return [error.body.code, error.body.message];
      }
    };
    const more = 'are running or wait. Try again when one of them has ended';
    expect(refused(ada, 7n)).toEqual([
      ...['jobs.tooManyOfOne', `8 of your jobs ${more}, or cancel one`],
    ]);
    for (let at = 0; at < limits.databaseJobsMax; at++) {
      jobs.start(caller(BigInt(1_000 + at)), work(7n));
    }
    expect(refused(eve, 7n)).toEqual(['jobs.tooManyOfOne', `8 jobs of this database ${more}`]);
    const left = limits.jobsMax - limits.callerJobsMax - limits.databaseJobsMax;
    for (let at = 0; at < left; at++) {
      jobs.start(caller(BigInt(2_000 + at)), work(BigInt(2_000 + at)));
    }
    expect(refused(eve, 8n)).toEqual([
      'jobs.tooMany',
      '64 jobs are running. Try again when one of them has ended',
    ]);
    // Operators have as many of their own, whatever others do.
    for (let at = 0; at < limits.jobsMax; at++) expect(refused(operator, 7n)).toBeUndefined();
    expect(refused(operator, 7n)?.[0]).toBe('jobs.tooMany');
  });

  it('that restores a database under a new name counts for its caller alone', () => {
    const { jobs } = setUp();
    const work = { kind: 'restore', database: registryIdentity, run: never, progress };
    for (let at = 0; at < limits.databaseJobsMax; at++) jobs.start(caller(BigInt(50 + at)), work);
    expect(jobs.start(eve, work)).toMatch(/^[0-9a-f]{32}$/);
  });

  it('that has ended gives way to later ones of its caller, not of others', async () => {
    const { jobs } = setUp();
    const ended = { kind: 'verify', database, run: () => Promise.resolve({}), progress };
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    const ofAda = jobs.start(ada, ended);
    const ids: string[] = [];
    for (let count = 0; count < 70; count++) {
      ids.push(jobs.start(eve, ended));
      await settled();
    }
    expect(jobs.find(ada, ofAda)).toMatchObject({ state: 'done' });
    const isKept = (id: string) => {
      try {
        return jobs.find(eve, id).state === 'done';
      } catch {
        return false;
      }
    };
    // The last one had not ended when it was looked at.
    expect(ids.filter(isKept)).toEqual(ids.slice(-limits.callerJobsKeptMax - 1));
    for (let number = 100n; number < 92n + BigInt(limits.jobsKeptMax); number++) {
      jobs.start(caller(number), ended);
      await settled();
    }
    expect(jobs.find(ada, ofAda)).toMatchObject({ state: 'done' });
    // Who has most loses first.
    expect(ids.filter(isKept)).toEqual(ids.slice(-8));
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
