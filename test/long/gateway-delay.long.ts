import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { largeTexts } from '../hostile/large-texts.ts';
import { leastDelay } from '../support/gateway-delay.ts';
import { doorNames, LargeTextDoors } from '../support/large-text-doors.ts';

/** Nobody waits for the gateway while it reads the text of one client. */

let doors: LargeTextDoors;
beforeAll(async () => {
  doors = await LargeTextDoors.open();
}, 120_000);
afterAll(() => doors.close());

describe.each(doorNames)('[http 16] the gateway that reads %s', (door) => {
  it.each(Object.keys(largeTexts))(
    'is at most 50 ms late (p99.9) for %s',
    async (name) => {
      const text = largeTexts[name] ?? '';
      const { late, bound, figures } = await leastDelay(() =>
        doors.delayDuring(async () => {
          for (let round = 0; round < 3; round += 1) await doors.send(door, text);
        }),
      );
      console.info(door, name, figures);
      expect(late).toBeLessThan(bound);
    },
    300_000,
  );
});
