import { expect, it } from 'vitest';
import { expectExact } from './mixed-load/bars.ts';
import { mixedLoad } from './mixed-load/mixed-load.ts';

/** Small: what is looked at is that all is there. How fast, and on how much memory, says the long form. */
it('[durability P4] everything acknowledged under a mixed load is there, also after a kill', async () => {
  const report = await mixedLoad({
    seed: 20_261_123,
    isolation: 'thread',
    seconds: 2,
    sliceSeconds: 1,
    levels: [8],
    levelSeconds: 0.4,
    share: 0.5,
    itemCount: 1_000,
    watcherCount: 16,
    log: () => undefined,
  });
  expectExact(report);
  expect(report.perSecond).toBeGreaterThan(0);
  expect(report.samples.length).toBeGreaterThan(0);
  expect(
    report.samples.every(({ gatewayBytes, databaseBytes = 0, rowBytes }) => {
      return gatewayBytes > 0 && databaseBytes > 0 && rowBytes > 0;
    }),
  ).toBe(true);
}, 240_000);
