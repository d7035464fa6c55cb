import { expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import {
  isSnapshotDue,
  isWorthAtStop,
  millisUntilDue,
  type SinceSnapshot,
  sizesOfLimits,
} from './snapshot-due.ts';

const mebibyte = 2 ** 20;
const noDelay = { logBytes: 0, millis: 0 };

function since(parts: Partial<SinceSnapshot>): SinceSnapshot {
  const usual = { hasCommits: true, logBytes: 64 * mebibyte, millis: 60_000, costMillis: 1_000 };
  return { ...usual, ...parts };
}

it.each<readonly [string, Partial<SinceSnapshot>, Partial<typeof noDelay>, number | undefined]>([
  ['64 MiB of records', {}, {}, 0],
  ['fewer', { logBytes: 64 * mebibyte - 1 }, {}, undefined],
  ['the first one, which has cost nothing yet', { millis: 1, costMillis: 0 }, {}, 0],
  ['a cost of 4 % of the time', { costMillis: 2_400 }, {}, 0],
  ['a cost that is not paid yet', { costMillis: 2_800 }, {}, 10_000],
  ['that, and 1 GiB of records', { costMillis: 9e9, logBytes: 1024 * mebibyte }, {}, 0],
  ['no commit', { hasCommits: false }, {}, undefined],
  ['a try that failed', {}, { millis: 30_000 }, 30_000],
  ['that, and 1 GiB of records', { logBytes: 1024 * mebibyte }, { millis: 30_000 }, 30_000],
  ['one that was given up', {}, { logBytes: 128 * mebibyte }, undefined],
  ['twice its records', { logBytes: 128 * mebibyte }, { logBytes: 128 * mebibyte }, 0],
])('[history 2.2] after %s', (_, parts, delay, millis) => {
  const all = [since(parts), { ...noDelay, ...delay }, sizesOfLimits] as const;
  const found = millisUntilDue(...all);
  expect(found === undefined ? found : Math.round(found)).toBe(millis);
  expect(isSnapshotDue(...all)).toBe(millis === 0);
});

it.each<readonly [string, Partial<SinceSnapshot>, number, number, boolean]>([
  ['half a second of replay', { logBytes: 500 * limits.replayBytesPerMilli }, 1, 10_000, false],
  ['more', { logBytes: 501 * limits.replayBytesPerMilli }, 1, 10_000, true],
  ['rows that fill half of the time', {}, 5_000 * limits.snapshotBytesPerMilli, 10_000, true],
  ['more rows', {}, 5_001 * limits.snapshotBytesPerMilli, 10_000, false],
  ['no commit', { hasCommits: false }, 1, 10_000, false],
])('[history 2.2] at a stop with %s', (_, parts, rowBytes, leftMillis, isWorth) => {
  expect(isWorthAtStop(since(parts), rowBytes, leftMillis, sizesOfLimits)).toBe(isWorth);
});
