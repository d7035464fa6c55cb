import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { present } from '../assert.ts';
import { processorTime } from './processor-time.ts';
import { systemThreadId } from './thread-faults.ts';

it.runIf(existsSync('/proc/self/schedstat'))('counts what a thread runs', () => {
  const own = () => present(processorTime({ thread: systemThreadId() }), 'this thread is there');
  const before = own().runMillis;
  while (own().runMillis < before + 20) JSON.parse('[1]');
  expect(own().waitMillis).toBeGreaterThanOrEqual(0);
});

it('knows nothing of a process that is gone', () => {
  expect(processorTime({ process: 2 ** 30 })).toBe(undefined);
});
