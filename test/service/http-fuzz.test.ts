import { expect, it } from 'vitest';
import { fuzzHttp, nothingWrong } from './fuzz/http-fuzz.ts';

const mebibyte = 1024 * 1024;
const seed = 20_261_121;

it(`[http 2.5] survives mutated requests, seed ${seed}`, async () => {
  const report = await fuzzHttp({ seed, requests: 1_200, warmUp: 300, log: () => undefined });
  expect(report).toMatchObject(nothingWrong);
  expect(Object.keys(report.statuses)).toEqual(
    expect.arrayContaining(['101', '200', '400', '401', '404', '405', '413', '415', '431']),
  );
  expect(report.grownBytes.gateway).toBeLessThan(8 * mebibyte);
}, 300_000);
