import { afterEach, expect, it, vi } from 'vitest';
import { limits } from '../../limits.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import type { HoldOptions } from '../databases/history-holds.ts';
import { Archiver, type ArchiverOptions } from './archiver.ts';

const identity = databaseIdentity(7n);
const record = { identity };

/** An archiver of one database with `log.bytes` of log, whose passes end as `pass` says. */
function begin(pass: () => Promise<{ lagBytes: number; holdFrom?: number }>) {
  vi.useFakeTimers();
  const log = { offset: 3, bytes: 1_000 };
  const reports: string[] = [];
  const needs: HoldOptions[] = [];
  const done = { needsSnapshot: false, isNewLine: false, gap: undefined, holdFrom: undefined };
  const options = {
    settings: { repository: 'far', intervalMillis: 1_000, databases: 'all', lagBytes: 1 },
    repositories: { find: () => ({}) },
    registry: { databases: [record], database: () => record, namesOf: () => [] },
    thread: { run: async () => ({ ...done, ...(await pass()) }) },
    hold: (_: unknown, need: HoldOptions) => {
      needs.push(need);
      const progress = (fromOffset: number) => needs.push({ ...need, fromOffset });
      return { progress, release: () => undefined };
    },
    handleOf: () => ({
      statistics: () => ({
        state: 'serving',
        durableOffset: log.offset,
        used: { logBytes: log.bytes },
      }),
    }),
    describe: () => ({}),
    directory: '/nowhere',
    clock: { monotonicMillis: () => Date.now() },
    report: ({ level, message }: { readonly level: string; readonly message: string }) =>
      reports.push(`${level} ${message}`),
    host: 'aa'.repeat(16),
  } as unknown as ArchiverOptions;
  const archiver = new Archiver(options);
  return { archiver, log, needs, reports };
}

afterEach(() => {
  vi.useRealTimers();
});

it('[history 5.12] the lag is what the archive does not have, at every look', async () => {
  let lagBytes = 0;
  let isReachable = true;
  const { archiver, log, reports } = begin(async () => {
    if (!isReachable) throw new Error('the store cannot be reached');
    return { lagBytes };
  });
  await vi.advanceTimersByTimeAsync(1_500);
  expect(archiver.figures(identity)).toMatchObject({ lagBytes: 0, lagMillis: 0 });
  isReachable = false;
  Object.assign(log, { offset: 5, bytes: 1_400 });
  expect(archiver.figures(identity)?.lagBytes).toBe(400);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(archiver.figures(identity)).toMatchObject({ lagBytes: 400, failures: 5 });
  expect(archiver.figures(identity)?.lagMillis).toBeGreaterThanOrEqual(5_000);
  expect(reports.filter((text) => text.includes('cannot be reached'))).toHaveLength(1);
  // A pass that waits for a snapshot has succeeded, but not archived everything.
  isReachable = true;
  lagBytes = 300;
  await vi.advanceTimersByTimeAsync(1_000);
  Object.assign(log, { bytes: 1_500 });
  expect(archiver.figures(identity)?.lagBytes).toBe(400);
  lagBytes = 0;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(archiver.figures(identity)).toMatchObject({ lagBytes: 0, lagMillis: 0 });
  await archiver.close();
});

it('[history 5.12] a pass that never ends is reported, and does not keep the service', async () => {
  const { archiver, log, reports } = begin(() => new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(1_000 + limits.archiveStallMillis);
  expect(reports).toEqual([expect.stringContaining('its archive has not ended a pass for 120 s')]);
  Object.assign(log, { offset: 5, bytes: 1_400 });
  expect(archiver.figures(identity)?.lagBytes).toBe(1_400);
  expect(archiver.figures(identity)?.lagMillis).toBeGreaterThanOrEqual(limits.archiveStallMillis);
  let isClosed = false;
  const closing = archiver.close().then(() => {
    isClosed = true;
  });
  await vi.advanceTimersByTimeAsync(limits.archiveCloseMillisMax);
  await closing;
  expect(isClosed).toBe(true);
});

it('[history 5.12] a file that is packed while it is read is looked for again', async () => {
  let goneCount = 1;
  const { archiver, log, reports } = begin(async () => {
    goneCount -= 1;
    if (goneCount >= 0) throw new Error("ENOENT: no such file or directory, open 'commit-1.log'");
    return { lagBytes: 0 };
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(archiver.figures(identity)).toMatchObject({ lagBytes: 0, failures: 0 });
  expect(reports).toEqual([]);
  goneCount = 1_000;
  Object.assign(log, { offset: 5 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(archiver.figures(identity)).toMatchObject({ failures: 1 });
  expect(reports).toEqual([expect.stringMatching(/^warn .*it is not archived: ENOENT/)]);
  await archiver.close();
});

it('[history 3.21] what it holds is archived at once when somebody asks', async () => {
  const { archiver, log, needs } = begin(async () => ({ lagBytes: 0, holdFrom: log.offset + 1 }));
  await vi.advanceTimersByTimeAsync(1_000);
  Object.assign(log, { offset: 9 });
  expect(needs).toMatchObject([{ by: 'archive', fromOffset: 4 }]);
  await needs[0]?.catchUp?.();
  expect(needs.at(-1)?.fromOffset).toBe(10);
  await archiver.close();
});
