import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Kept } from './kept.ts';

const bounds = {
  countMax: 4,
  callerCountMax: 3,
  thingBytesMax: 50,
  bytesMax: 100,
  millisMax: 1_000,
};

/** Keeps a thing that must fit; returns its id. */
function put(kept: Kept<string>, caller: string, thing: string, bytes = 1): string {
  const id = kept.put(caller, thing, bytes);
  if (id === undefined) throw new Error(`${thing} does not fit`);
  return id;
}

describe('what is kept for callers', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is for the caller that it was kept for', () => {
    const kept = new Kept<string>(bounds);
    const id = put(kept, 'ada', 'a');
    expect(id).toMatch(/^[\w-]{22}$/);
    expect(kept.get('ada', id)).toBe('a');
    expect(kept.get('bob', id)).toBeUndefined();
    expect(kept.get('ada', id.toLowerCase())).toBeUndefined();
    kept.drop(id);
    expect(kept.get('ada', id)).toBeUndefined();
  });

  it('is dropped when nobody has asked for it for a while', () => {
    const kept = new Kept<string>(bounds);
    const id = put(kept, 'ada', 'a');
    vi.advanceTimersByTime(900);
    expect(kept.get('ada', id)).toBe('a');
    vi.advanceTimersByTime(900);
    expect(kept.get('ada', id)).toBe('a');
    vi.advanceTimersByTime(1_000);
    expect(kept.get('ada', id)).toBeUndefined();
    expect(kept.count).toBe(0);
  });

  it('drives out what the same caller kept first', () => {
    const kept = new Kept<string>(bounds);
    const other = put(kept, 'bob', 'b');
    const ids = ['1', '2', '3', '4'].map((thing) => put(kept, 'ada', thing));
    expect(ids.map((id) => kept.get('ada', id))).toEqual([undefined, '2', '3', '4']);
    expect(kept.get('bob', other)).toBe('b');
  });

  it('drives out what was asked for the longest time ago, by count and by bytes', () => {
    const kept = new Kept<string>(bounds);
    const ids = ['a', 'b', 'c', 'd'].map((caller) => put(kept, caller, caller, 20));
    kept.get('a', ids[0] ?? '');
    put(kept, 'e', 'e', 20);
    const left = () => ['a', 'b', 'c', 'd'].filter((who, at) => kept.get(who, ids[at] ?? ''));
    expect(left()).toEqual(['a', 'c', 'd']);
    put(kept, 'f', 'f', 50);
    expect(left()).toEqual(['c', 'd']);
  });

  it('is not too large', () => {
    const kept = new Kept<string>(bounds);
    expect(kept.put('ada', 'a', 51)).toBeUndefined();
    expect(kept.count).toBe(0);
  });
});
