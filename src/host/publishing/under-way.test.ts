import { describe, expect, it } from 'vitest';
import { refusal, stoppedRefusal } from '../../database/outcome.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { UnderWay } from './under-way.ts';

const [shop, other] = [databaseIdentity(1n), databaseIdentity(2n)];

/** Ends as what waits for a linker does. */
function stops(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(stoppedRefusal()), { once: true });
  });
}

const code = (given: string) =>
  expect.objectContaining({ body: expect.objectContaining({ code: given }) });

describe('[living 5.8, 5.10] what is under way for a database', () => {
  it('is cancelled whole, whatever it waits for, and others go on', async () => {
    const underWay = new UnderWay();
    const leaving = new AbortController();
    const works = [
      underWay.with(shop, undefined, stops),
      underWay.with(shop, undefined, stops),
      underWay.with(other, leaving.signal, stops),
    ];
    const ends = Promise.allSettled(works);
    expect(underWay.cancel(shop)).toBe(true);
    await Promise.allSettled(works.slice(0, 2));
    expect(underWay.cancel(shop)).toBe(false);
    leaving.abort();
    const reason = code('migration.cancelled');
    expect(await ends).toEqual(works.map(() => ({ status: 'rejected', reason })));
  });

  it('keeps its own reason where it fails by itself', async () => {
    const underWay = new UnderWay();
    const stopped = underWay.with(shop, undefined, () => Promise.reject(stoppedRefusal()));
    await expect(stopped).rejects.toEqual(code('database.stopped'));
    const invalid = underWay.with(shop, undefined, async (signal) => {
      await stops(signal).catch(() => undefined);
      throw refusal('program.invalid', 'no program');
    });
    underWay.cancel(shop);
    await expect(invalid).rejects.toEqual(code('program.invalid'));
  });
});
