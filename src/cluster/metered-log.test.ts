import { expect, it } from 'vitest';
import { spanCount } from '../database/time-counts.ts';
import { clusterId, logName } from '../shared-log/log-name.ts';
import type { AppendResult, SharedLog } from '../shared-log/shared-log.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { LeadProofs } from './lead-proofs.ts';
import { MeteredLog } from './metered-log.ts';

const identity = databaseIdentity(0xabcn);
const log = logName(clusterId(7n), identity, 0);

it('[replication 15.2, 15.3] counts appends, and says what came of those in doubt', async () => {
  const answers: AppendResult[] = ['stored', 'unknown', 'unknown', 'stored', 'unknown', 'passed'];
  let now = 0;
  const lines: string[] = [];
  const metered = new MeteredLog({
    sharedLog: {
      append: async (items) => {
        now += 7;
        return items.map(() => answers.shift() ?? 'unknown');
      },
    } as Partial<SharedLog> as SharedLog,
    now: () => now,
    proofs: new LeadProofs(() => now),
    report: ({ level, message, about }) =>
      void lines.push(`${level} ${about?.database?.slice(-4)}: ${message}`),
  });
  for (let seq = 1; answers.length > 0; seq++) {
    await metered.append([{ log, seq, bytes: new Uint8Array(10) }]);
  }
  expect(metered.figures).toMatchObject({
    bytes: 20,
    results: { stored: 2, passed: 1, unknown: 3 },
  });
  expect(spanCount(metered.figures.times)).toBe(6);
  expect(lines.filter((line) => line.startsWith('info'))).toEqual([
    'info 0abc: what was written is stored, 14 ms after 2 appends without an answer',
    'info 0abc: what was written was passed by an entry that is there, ' +
      '7 ms after 1 append without an answer',
  ]);
  expect(lines.filter((line) => line.startsWith('warn'))).toHaveLength(2);
});

it('[replication 5.10, 6.14] a generation proves nothing of another', async () => {
  const proofs = new LeadProofs(() => 0);
  const metered = new MeteredLog({
    sharedLog: {
      append: async (items) => items.map(() => 'stored'),
      confirm: async (items) => items.map(() => 'last'),
      remove: async () => undefined,
    } as Partial<SharedLog> as SharedLog,
    ...{ now: () => 0, proofs, report: () => undefined },
  });
  const next = logName(clusterId(7n), identity, 1);
  await metered.append([{ log: next, seq: 1, bytes: new Uint8Array(10) }]);
  expect(await proofs.prove(log, metered)).toBe(false);
  await metered.append([{ log, seq: 1, bytes: new Uint8Array(10) }]);
  await metered.remove(next);
  expect(await proofs.prove(log, metered)).toBe(true);
  expect(await proofs.prove(next, metered)).toBe(false);
});

it('[replication 15.3, 6.9] counts entries that the engine had lost, and got again', async () => {
  const metered = new MeteredLog({
    sharedLog: {
      append: async (items) => items.map(({ seq }) => (seq === 9 ? 'unknown' : 'stored')),
    } as Partial<SharedLog> as SharedLog,
    now: () => 0,
    proofs: new LeadProofs(() => 0),
    report: () => undefined,
  });
  // One that was in doubt, and is sent again, was not lost.
  for (const seq of [1, 2, 3, 9, 4]) {
    await metered.append([{ log, seq, bytes: new Uint8Array(10) }]);
  }
  expect(metered.figures.restored).toBe(0);
  for (const seq of [2, 3, 4, 5]) {
    await metered.append([{ log, seq, bytes: new Uint8Array(10) }]);
  }
  expect(metered.figures.restored).toBe(3);
});
