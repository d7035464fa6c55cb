import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import { databaseIdentity, ownerIdentity } from '../values/identity-roles.ts';
import { type Holder, Kept, sharesIn } from './kept.ts';

const bounds = {
  countMax: 4,
  callerCountMax: 3,
  thingBytesMax: 50,
  bytesMax: 100,
  millisMax: 1_000,
};

function holder(caller: string, ...outer: string[]): Holder {
  return { caller, shares: [...outer, caller] };
}

/** Keeps a thing that must fit; returns its id. */
function put(kept: Kept<string>, who: string | Holder, thing: string, bytes = 1): string {
  const id = kept.put(typeof who === 'string' ? holder(who) : who, thing, bytes);
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

  it('[http 18.1] stays while others keep more, however many callers they are', () => {
    const kept = new Kept<string>(bounds);
    const own = put(kept, holder('ada', 'her database'), 'a');
    const others = Array.from({ length: 20 }, (_, at) => {
      return [`${at}`, put(kept, holder(`${at}`, 'theirs'), `${at}`)] as const;
    });
    expect(kept.get('ada', own)).toBe('a');
    expect(others.flatMap(([who, id]) => kept.get(who, id) ?? [])).toEqual(['17', '18', '19']);
    const large = others.map((_, at) => put(kept, holder(`${at}`, 'theirs'), `${at}`, 50));
    expect(kept.get('ada', own)).toBe('a');
    expect(large.filter((id, at) => kept.get(`${at}`, id) !== undefined)).toHaveLength(1);
  });

  it('[mcp B21] stays when strangers come to the same database as new identities', () => {
    const kept = new Kept<string>({ ...bounds, countMax: 16 });
    const database = { owner: ownerIdentity(1n), identity: databaseIdentity(2n) };
    const put = (caller: string, rights: typeof ownerRights) =>
      kept.put({ caller, shares: sharesIn(database, rights, caller) }, caller, 1) ?? '';
    const own = ['ada', 'ada'].map((who) => put(who, ownerRights));
    for (let at = 0; at < 100; at++) put(`${at}`, strangerRights);
    expect(own.map((id) => kept.get('ada', id))).toEqual(['ada', 'ada']);
    expect(kept.count).toBe(16);
  });

  it('is not too large', () => {
    const kept = new Kept<string>(bounds);
    expect(kept.put(holder('ada'), 'a', 51)).toBeUndefined();
    expect(kept.count).toBe(0);
  });
});
