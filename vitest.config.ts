import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // What never comes true fails as well later, and a machine that is busy is no fault.
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Much of the time is spent waiting for processes and disks, also on two cores.
    maxWorkers: 2,
  },
});
