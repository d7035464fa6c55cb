import { describe, expect, it } from 'vitest';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { UnderWay } from './under-way.ts';

const [shop, other] = [databaseIdentity(1n), databaseIdentity(2n)];

/** Ends when it is aborted. */
function stops(signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.aborted), { once: true });
  });
}

describe('[living 5.8, 5.10] what is under way for a database', () => {
  it('is cancelled whole, and that of others goes on', async () => {
    const underWay = new UnderWay();
    const leaving = new AbortController();
    const works = [underWay.with(shop, undefined, stops), underWay.with(shop, undefined, stops)];
    let hasOtherEnded = false;
    const another = underWay.with(other, leaving.signal, stops).finally(() => {
      hasOtherEnded = true;
    });
    expect(underWay.cancel(shop)).toBe(true);
    expect(await Promise.all(works)).toEqual([true, true]);
    expect(underWay.cancel(shop)).toBe(false);
    expect(hasOtherEnded).toBe(false);
    leaving.abort();
    expect(await another).toBe(true);
    expect(underWay.cancel(other)).toBe(false);
  });
});
