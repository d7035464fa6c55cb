import { describe, expect, it } from 'vitest';
import { hasChromium, stageMillis } from './console-support.ts';
import { browse, isBounded } from './page-memory.ts';

/** A short form of what `test/long/console-memory.long.ts` does for half an hour. */
describe.skipIf(!hasChromium)('the memory of the page', () => {
  it(
    '[console 4.2] stays bounded while a table changes and one goes from page to page',
    async () => {
      const holdings = await browse({
        rows: 20_000,
        millis: 0,
        roundsMin: 6,
        isWarm: (round) => round > 2,
        log: (line) => console.log(line),
      });
      expect(isBounded(holdings), JSON.stringify(holdings)).toBe(true);
    },
    stageMillis,
  );
});
