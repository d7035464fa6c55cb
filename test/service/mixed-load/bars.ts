import { expect } from 'vitest';
import type { MixedLoadReport } from './mixed-load.ts';

const mebibyte = 1024 * 1024;
const driftBytesMax = 5 * mebibyte;
const slowerMax = 1.2;

/** What must hold however busy the machine is with other things: everything acknowledged is there. */
export function expectExact({ settled, missing, missingAfterKill }: MixedLoadReport): void {
  expect(settled.failures).toEqual({});
  expect(settled.differences).toEqual([]);
  expect(missing).toEqual([]);
  expect(missingAfterKill).toEqual([]);
  expect(settled.told).toBeGreaterThan(0);
  expect(settled.entries.length).toBeGreaterThan(0);
}

/** Memory stays within 5 MiB of what it was after the first fifth: that of each part, and all of it. */
export function expectFlat({ verdict }: MixedLoadReport): void {
  for (const [name, bytes] of Object.entries(verdict.drift)) {
    expect(Math.abs(bytes), `memory: ${name}`).toBeLessThanOrEqual(driftBytesMax);
  }
}

/** `TEST_SLOWNESS` is the factor for a machine that does other things, too. */
export function expectSteady({ verdict }: MixedLoadReport): void {
  const factor = Number(process.env.TEST_SLOWNESS ?? 1);
  expect(verdict.p99Start).toBeGreaterThan(0);
  expect(verdict.p99End).toBeLessThanOrEqual(slowerMax * verdict.p99Start * factor);
}
