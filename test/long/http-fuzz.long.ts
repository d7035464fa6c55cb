import { expect, it } from 'vitest';
import { fuzzHttp, nothingWrong } from '../service/fuzz/http-fuzz.ts';

const requests = Number(process.env.REQUESTS ?? 50_000);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const mebibyte = 1024 * 1024;

it(`[http 2.5] survives ${requests} mutated requests, seed ${seed}`, async () => {
  const report = await fuzzHttp({ seed, requests, warmUp: 3_000, log: console.log });
  expect(report).toMatchObject(nothingWrong);
  // What the gateway keeps on purpose, such as checked tokens, has its bounds in `limits.ts`.
  expect(report.grownBytes.gateway).toBeLessThan(8 * mebibyte);
  expect(report.grownBytes.resident).toBeLessThan(128 * mebibyte);
});
