import { expect, it } from 'vitest';
import type { Arrivals } from './drive.ts';
import { type MemorySample, partsOf, slicesOf, verdictOf } from './figures.ts';

const seconds = 100;
const mebibyte = 1024 * 1024;

/** So many arrivals a second; `millisAt` says how long each of them waits. */
function arrivalsOf(millisAt: (second: number, at: number) => number): Arrivals {
  const perSecond = 200;
  const places = Array.from({ length: seconds * perSecond }, (_, at) => at);
  const secondOf = (at: number) => Math.floor(at / perSecond);
  return {
    beginMillis: 0,
    names: ['one'],
    kinds: new Uint8Array(places.length),
    seconds: Uint16Array.from(places, secondOf),
    millis: Float32Array.from(places, (at) => millisAt(secondOf(at), at % perSecond)),
    lateMillis: new Float32Array(places.length),
    cpuSeconds: 0,
  };
}

function samplesOf(gatewayAt: (second: number) => number): MemorySample[] {
  return Array.from({ length: 20 }, (_, at) => ({
    second: at * 5 + 0.1,
    gatewayBytes: gatewayAt(at * 5),
    databaseBytes: 0,
    ...{ bufferBytes: 0, rowBytes: 0, indexBytes: 0, logBytes: 0 },
    ...{ residentBytes: 0, connections: 0 },
  }));
}

function judged(
  millisAt: (second: number, at: number) => number,
  gatewayAt: (second: number) => number = () => 0,
  blindSeconds: ReadonlySet<number> = new Set(),
) {
  const slices = slicesOf(arrivalsOf(millisAt), { sliceSeconds: 5, blindSeconds });
  const parts = partsOf(slices, samplesOf(gatewayAt), seconds);
  return verdictOf(slices, parts, seconds);
}

it('p99 at the end and at the start is a median of slices: one bad slice is no growth', () => {
  const slowOnce = (second: number, at: number) => (at < 4 ? 9 : second === 92 ? 500 : 1);
  expect(judged(slowOnce)).toMatchObject({ p99Start: 9, p99End: 9 });
  const slower = (second: number, at: number) => (at < 4 ? 9 + second : 1);
  const { p99Start, p99End } = judged(slower);
  expect(p99End).toBeGreaterThan(5 * p99Start);
});

it('what was due while garbage was collected on purpose does not count', () => {
  const slowAt = (second: number) => (second % 5 === 0 ? 300 : 1);
  expect(judged(slowAt).p99Start).toBe(300);
  const blind = new Set(Array.from({ length: 20 }, (_, at) => at * 5));
  expect(judged(slowAt, undefined, blind)).toMatchObject({ p99Start: 1, p99End: 1 });
});

it('memory is compared with what it was after the first fifth, in both directions', () => {
  const fast = () => 1;
  const warm = judged(fast, (second) => Math.min(second, 20) * mebibyte);
  expect(warm.drift).toMatchObject({ gateway: 0, together: 0 });
  const growing = judged(fast, (second) => second * mebibyte);
  expect(growing.drift.gateway).toBe(70 * mebibyte);
  expect(judged(fast, (second) => -second * mebibyte).drift.gateway).toBe(-70 * mebibyte);
  expect(judged(fast, (second) => (second === 50 ? 99 * mebibyte : 0)).drift.gateway).toBe(0);
});
