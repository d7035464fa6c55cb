import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from './test-database.ts';

const module = fileURLToPath(new URL('../../test/fixtures/modules/patience', import.meta.url));
const minute = 60_000;

describe('procedures that sleep, in a test', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase({ module });
  });
  afterAll(() => db.close());

  const notes = () => db.call<string[]>('notes');

  it('[living 1.15, living 2.2] sleep until the test moves its clock', async () => {
    const before = db.clock.now;
    const nap = db.call('nap', [90 * minute, 'long']);
    const short = db.call('nap', [minute, 'short']);
    // It waits until both of them sleep.
    expect(await db.clock.advance(minute)).toEqual([]);
    expect(await short).toBe('short');
    expect(db.clock.now.since(before).millis).toBe(minute);
    await db.clock.advance(89 * minute);
    expect(await nap).toBe('long');
  });

  it('[living 1.15, living 2.2] do what follows at its time, before time goes on', async () => {
    const steps = db.call('steps', [3]);
    await db.clock.advance(1);
    expect((await notes()).filter((text) => text.startsWith('tx'))).toHaveLength(2);
    await db.clock.advance(10);
    await steps;
    expect((await notes()).filter((text) => text.startsWith('tx'))).toHaveLength(4);
  });

  it('[living 1.15] see the time of the test', async () => {
    const clock = db.call<bigint[]>('clock');
    const accepted = db.clock.now.microsSinceUnixEpoch;
    await db.clock.advance(minute);
    const millis = accepted / 1_000n;
    expect(await clock).toEqual([millis, millis + 1n, accepted]);
  });

  it('[living 1.15] that race leave no sleep behind', async () => {
    const race = db.call('attempt', ['race']);
    await db.clock.advance(1);
    expect(await race).toBe('first');
    // Nothing is left that would have to be waited for.
    const before = db.clock.now;
    void db.clock.advance(10 * minute);
    expect(db.clock.now.since(before).millis).toBe(10 * minute);
  });

  it('[living 2.6] fail at once when nothing can end them', async () => {
    await expect(db.call('never')).rejects.toThrow('awaits a promise that nothing will resolve');
  });
});
