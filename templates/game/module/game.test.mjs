import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestDatabase } from 'reducerdb/testing';

// The real engine in this process, in memory. The clock is the test's: schedules run as it moves.
/** @type {import('reducerdb/testing').TestDatabase<typeof import('./src/index.js')>} */
const db = await openTestDatabase({ module: import.meta.dirname });
after(() => db.close());
const ada = db.as('ada');
// A watch is a connection, as an open window is.
const screen = await ada.watch(db.tables.player);

async function me() {
  const found = await db.tables.player.identity.find(ada.identity);
  assert.ok(found);
  return found;
}

test('a player who steers moves with each beat, and stands after 0, 0', async () => {
  await ada.reducers.enter({});
  await ada.reducers.steer({ dx: 3, dy: 0 });
  const start = await me();
  assert.deepEqual([start.dx, start.dy], [1, 0]);
  const ran = await db.clock.advance(100);
  assert.deepEqual(
    ran.map(({ outcome }) => outcome),
    ['committed', 'committed'],
  );
  const there = await me();
  assert.equal(there.x, (start.x + 2 * 21) % 1600);
  await ada.reducers.steer({ dx: 0, dy: 0 });
  await db.clock.advance(100);
  assert.equal((await me()).x, there.x);
});

test('a coin that is reached counts, and another one appears', async () => {
  const { x, y } = await me();
  await ada.reducers.layCoin({ x, y });
  await ada.reducers.steer({ dx: 0, dy: 0.1 });
  await db.clock.advance(50);
  assert.equal((await me()).score, 1);
  assert.equal(await db.tables.coin.count(), 1n);
});

test('the beat ends when nobody plays, and the score stays', async () => {
  screen.stop();
  await db.clock.advance(1_000);
  const { online, score } = await me();
  assert.deepEqual([online, score], [false, 1]);
  assert.deepEqual(await db.clock.advance(1_000), []);
});
