import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { StatementCache } from './statement-cache.ts';

describe('the cache of statements', () => {
  it('gives back what was put', () => {
    const cache = new StatementCache<number>();
    cache.put('a', 1);
    expect([cache.get('a'), cache.get('b')]).toEqual([1, undefined]);
    cache.delete('a');
    expect(cache.get('a')).toBeUndefined();
  });

  it('forgets what was not asked for the longest time', () => {
    const cache = new StatementCache<number>();
    for (let at = 0; at < limits.sqlCachedStatementsMax; at++) cache.put(`s${at}`, at);
    cache.get('s0');
    cache.put('one more', -1);
    expect([cache.get('s0'), cache.get('s1'), cache.get('s2')]).toEqual([0, undefined, 2]);
  });

  it('keeps no long text', () => {
    const cache = new StatementCache<number>();
    const long = 'x'.repeat(limits.sqlCachedTextLengthMax + 1);
    cache.put(long, 1);
    expect(cache.get(long)).toBeUndefined();
  });
});
