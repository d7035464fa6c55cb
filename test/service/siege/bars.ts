import { expect } from 'vitest';
import type { SiegeReport } from './siege.ts';

/** A baseline below this is noise: two cores that do other things, too. */
const baselineMillisMin = 20;
const slowerMax = 5;

/** What must hold however busy the machine is with other things: nothing is lost, nobody ends. */
export function expectHeld(report: SiegeReport): void {
  expect(report.gatewayEnd).toBe(undefined);
  expect(report.missing).toEqual([]);
  expect(report.missingAfterKill).toEqual([]);
  expect(report.acknowledged).toBeGreaterThan(0);
  expect(report.restarts).toBe(0);
  expect(report.breaches).toEqual([]);
  expect({ ...report.besieged.failures, ...report.after.failures }).toEqual({});
}

/**
 * How long the well-behaved wait, beside what they wait alone. `TEST_SLOWNESS` is the
 * factor for a machine that does other things, too.
 */
export function expectUndelayed({ alone, besieged, after }: SiegeReport): void {
  const factor = Number(process.env.TEST_SLOWNESS ?? 1);
  const baseline = Math.max(alone.p99, after.p99, baselineMillisMin);
  expect(besieged.p99).toBeLessThanOrEqual(slowerMax * baseline * factor);
}
