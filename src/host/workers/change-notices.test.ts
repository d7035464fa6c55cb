import { expect, it, vi } from 'vitest';
import { limits } from '../../limits.ts';
import { ChangeNotices } from './change-notices.ts';

/** Whether promises have resolved, by the time that all that is due has run. */
async function done(promises: readonly Promise<void>[]): Promise<boolean[]> {
  const pending = Symbol('pending');
  await new Promise((resolve) => setImmediate(resolve));
  const first = promises.map((one) => Promise.race([one, Promise.resolve(pending)]));
  return (await Promise.all(first)).map((result) => result !== pending);
}

it('[living 4.3] a change is over when the keeper knows of it; a notice is for many', async () => {
  const send = vi.fn();
  const notices = new ChangeNotices(send);
  const changes = [notices.changed(), notices.changed(), notices.changed()];
  expect(send).toHaveBeenCalledTimes(1);
  expect(await done(changes)).toEqual([false, false, false]);
  notices.seen();
  expect(await done(changes)).toEqual([true, false, false]);
  expect(send).toHaveBeenCalledTimes(2);
  notices.seen();
  expect(await done(changes)).toEqual([true, true, true]);
  expect(send).toHaveBeenCalledTimes(2);
  expect(() => notices.seen()).toThrow('it has seen a change that there is not');
});

it('[living 4.3] nobody waits for a keeper that is gone, or does not answer', async () => {
  const notices = new ChangeNotices(() => undefined);
  const first = notices.changed();
  notices.end();
  await first;
  vi.useFakeTimers();
  try {
    const late = notices.changed();
    vi.advanceTimersByTime(limits.envSeenMillisMax);
    await late;
  } finally {
    vi.useRealTimers();
  }
});
