import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: './test/support/embed-guest.mjs',
    env: { TEST_WHOLE: '1' },
    include: ['test/long/*.long.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 600_000,
    pool: 'forks',
    reporters: ['verbose'],
  },
});
