import { afterAll, beforeAll, expect, it } from 'vitest';
import { largeTexts } from '../hostile/large-texts.ts';
import { leastDelay } from '../support/gateway-delay.ts';
import { doorNames, LargeTextDoors } from '../support/large-text-doors.ts';
import { someOf } from '../support/share.ts';

/** Some of the shapes, and of the doors by turns; `npm run test:long -- gateway-delay` has all. */
const shapes = ['duplicate keys', 'small numbers', 'escaped quotes', 'deep lists'];

let doors: LargeTextDoors;
beforeAll(async () => {
  doors = await LargeTextDoors.open();
}, 120_000);
afterAll(() => doors.close());

it.each(someOf(doorNames))(
  '[http 16] the gateway that reads %s is at most 50 ms late',
  async (door) => {
    const { late, bound, figures } = await leastDelay(() =>
      doors.delayDuring(async () => {
        for (const shape of shapes) await doors.send(door, largeTexts[shape] ?? '');
      }),
    );
    console.info(door, figures);
    expect(late).toBeLessThan(bound);
  },
  120_000,
);

it('[http 16] the gateway that writes rows of many characters is at most 50 ms late', async () => {
  const nothings = 60_000;
  const numbers = 1_000_000;
  const shortRows = 20;
  for (let id = 0; id < shortRows; id += 1) await doors.lengthen(id, nothings, 0);
  await doors.lengthen(shortRows, 0, numbers);
  const { late, bound, figures } = await leastDelay(() =>
    doors.delayDuring(async () => {
      for (let round = 0; round < 10; round += 1) {
        const ofShort = await doors.lengthOfRows(`id < ${shortRows}`);
        expect(ofShort).toBeGreaterThan(3 * nothings * shortRows);
        expect(await doors.lengthOfRows(`id = ${shortRows}`)).toBeGreaterThan(2 * numbers);
      }
    }),
  );
  console.info('rows', figures);
  expect(late).toBeLessThan(bound);
}, 120_000);

it.each([
  { count: 4, characters: 1_000_000 },
  { count: 150, characters: 30_000 },
])(
  '[websocket 9] the gateway that writes $count rows of $characters characters to text clients is at most 50 ms late',
  async ({ count, characters }) => {
    await doors.note(count, characters);
    const { late, bound, figures } = await leastDelay(() =>
      doors.delayDuring(async () => {
        const clients = await doors.watchNotes(2);
        for (let round = 0; round < 2; round += 1) {
          await doors.note(count, characters);
          for (const client of clients) {
            const { bytes, isBinary } = await client.frame();
            expect(isBinary).toBe(false);
            expect(bytes.length).toBeGreaterThan(2 * count * characters);
            client.frames.fill({ bytes: Buffer.alloc(0), isBinary });
          }
        }
        for (const client of clients) client.socket.terminate();
      }),
    );
    console.info('updates as text', figures);
    expect(late).toBeLessThan(bound);
  },
  240_000,
);
