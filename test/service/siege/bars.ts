import { expect } from 'vitest';
import type { SiegeReport } from './siege.ts';

/** A baseline below this is noise: two cores that do other things, too. */
const baselineMillisMin = 20;
const slowerMax = 5;

/** `factor`: for a machine that is busy with other things. */
export function expectHeld(report: SiegeReport, factor = Number(process.env.SIEGE_FACTOR ?? 1)) {
  expect(report.gatewayEnd).toBe(undefined);
  expect(report.missing).toEqual([]);
  expect(report.missingAfterKill).toEqual([]);
  expect(report.acknowledged).toBeGreaterThan(0);
  expect(report.restarts).toBe(0);
  expect(report.breaches).toEqual([]);
  expect({ ...report.besieged.failures, ...report.after.failures }).toEqual({});
  const baseline = Math.max(report.alone.p99, report.after.p99, baselineMillisMin);
  expect(report.besieged.p99).toBeLessThanOrEqual(slowerMax * baseline * factor);
}
