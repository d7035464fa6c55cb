import { describe, expect, it } from 'vitest';
import { hasChromium } from '../console/console-support.ts';
import { browse, isBounded } from '../console/page-memory.ts';

/** `MINUTES`: how long it is browsed, of which a sixth is for getting warm. */
const minutes = Number(process.env.MINUTES ?? 30);
const minuteMillis = 60_000;

describe.skipIf(!hasChromium)('the memory of the page', () => {
  it(`[console 4.2] stays bounded for ${minutes} minutes over a million rows`, async () => {
    const holdings = await browse({
      rows: 1_000_000,
      millis: minutes * minuteMillis,
      roundsMin: 8,
      isWarm: (round, millis) => round > 2 && millis > (minutes * minuteMillis) / 6,
      log: (line) => console.log(line),
    });
    expect(isBounded(holdings), JSON.stringify(holdings)).toBe(true);
  });
});
