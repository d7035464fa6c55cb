import { expect, it } from 'vitest';
import { soak } from '../service/soak/soak.ts';
import { growthOf } from '../service/soak/trend.ts';

const minutes = Number(process.env.MINUTES ?? 20);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const mebibyte = 1024 * 1024;

it(`[websocket 11] ${minutes} minutes of clients that come and go, seed ${seed}`, async () => {
  const bounds = { minutes, cycleMillis: 12_000, visitsPerCycle: 100 };
  const report = await soak({ seed, ...bounds, log: console.log });
  const { samples, visits, givenUp, leftovers } = report;
  const growth = {
    gateway: growthOf(samples.map(({ gatewayBytes }) => gatewayBytes)) / mebibyte,
    worker: growthOf(samples.map(({ workerBytes }) => workerBytes)) / mebibyte,
    resident: growthOf(samples.map(({ rssBytes }) => rssBytes)) / mebibyte,
    resources: growthOf(samples.map(({ resources }) => resources)),
  };
  console.log({ visits, givenUp, leftovers, growthInMebibytes: growth });
  expect(leftovers).toEqual([]);
  expect(givenUp).toBeGreaterThan(0);
  // A client that is not forgotten, or a listener of it, is more than a hundred bytes. Buffers that
  // a flood has made larger are kept up to a bound: they are steps, which are no growth.
  const bearable = Math.max(1, (visits * 100) / mebibyte);
  expect(growth.gateway).toBeLessThan(bearable);
  expect(growth.worker).toBeLessThan(bearable);
  // The allocator does not give back everything that a flood has taken.
  expect(growth.resident).toBeLessThan(32);
  expect(growth.resources).toBeLessThan(1);
});
