import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limits } from '../limits.ts';
import { SlicedEnd } from './sliced-end.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function clients(count: number) {
  const open = new Set(Array.from({ length: count }, (_, number) => ({ number })));
  const ended: number[] = [];
  const slices = new SlicedEnd({
    open: () => open,
    // They take their time to go.
    end: (client: { readonly number: number }) => void ended.push(client.number),
  });
  return { open, ended, slices };
}

it('[replication 9.5] a twentieth goes each second, each client once, until all are gone', () => {
  const { ended, slices } = clients(100);
  slices.begin();
  expect(ended.length).toBe(5);
  for (let second = 1; second < 20; second++) {
    vi.advanceTimersByTime(limits.drainSliceMillis);
    expect(ended.length).toBe(5 * (second + 1));
  }
  vi.advanceTimersByTime(10 * limits.drainSliceMillis);
  expect([ended.length, new Set(ended).size]).toEqual([100, 100]);
});

it('[replication 9.5] of a few, one goes each second; who undrains keeps the others', () => {
  const { ended, slices } = clients(3);
  slices.begin();
  slices.begin();
  vi.advanceTimersByTime(limits.drainSliceMillis);
  expect(ended).toEqual([0, 1]);
  slices.stop();
  vi.advanceTimersByTime(10 * limits.drainSliceMillis);
  expect([ended, slices.isOn]).toEqual([[0, 1], false]);
});
