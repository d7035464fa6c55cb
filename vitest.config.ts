import { defineConfig } from 'vitest/config';

// biome-ignore lint/style/noDefaultExport: the runner asks for one.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
  },
});
