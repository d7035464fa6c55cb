import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { present } from '../assert.ts';
import { processorTime, processTreeMillis } from './processor-time.ts';
import { systemThreadId } from './thread-faults.ts';

it.runIf(existsSync('/proc/self/schedstat'))('counts what a thread runs', () => {
  const own = () => present(processorTime({ thread: systemThreadId() }), 'this thread is there');
  const before = own().runMillis;
  while (own().runMillis < before + 20) JSON.parse('[1]');
  expect(own().waitMillis).toBeGreaterThanOrEqual(0);
});

it.runIf(existsSync('/proc/self/stat'))('counts what a process and its children run', async () => {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  const own = present(processTreeMillis(present(child.pid, 'it has started')), 'it is there');
  const all = () => present(processTreeMillis(process.pid), 'this process is there');
  const before = all();
  await expect
    .poll(() => present(processTreeMillis(child.pid ?? 0), 'it runs'))
    .toBeGreaterThan(own);
  await expect.poll(all).toBeGreaterThan(before);
  child.kill();
  await once(child, 'exit');
  expect(processTreeMillis(child.pid ?? 0)).toBe(undefined);
});

it('knows nothing of a process that is gone', () => {
  expect(processorTime({ process: 2 ** 30 })).toBe(undefined);
});
