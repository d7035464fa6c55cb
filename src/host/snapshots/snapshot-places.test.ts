import { expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { SnapshotPlaces } from './snapshot-places.ts';

it('[history 2.8] two databases write at a time, and the longest waiting one is next', () => {
  const places = new SnapshotPlaces();
  const begun: number[] = [];
  const leave = [0, 1, 2, 3, 4].map((number) => places.enter(() => begun.push(number)));
  expect(begun).toEqual([0, 1]);
  expect(begun).toHaveLength(limits.hostSnapshotsMax);
  leave[2]?.();
  leave[1]?.();
  leave[1]?.();
  expect(begun).toEqual([0, 1, 3]);
  leave[0]?.();
  expect(begun).toEqual([0, 1, 3, 4]);
});
