import { describe, expect, it } from 'vitest';
import { bootId } from './host-ids.ts';
import {
  followingState,
  isUnsure,
  type LeadershipCommand,
  type LeadershipEvent,
  type LeadershipRules,
  type LeadershipState,
  type Look,
  leadershipAfter,
  rankOf,
} from './leadership.ts';

const me = bootId(1n);
const other = bootId(2n);
const rules = { boot: me, leaseMillis: 2_000 };

const quiet: Look = {
  now: 0,
  term: 4,
  leader: other,
  isAtEnd: true,
  endMillis: 3_600_000,
  hasLeaderWritten: true,
  isEngineReached: true,
  beatAgeMillis: 100,
  isGone: false,
  rank: 0,
  skewMillis: 0,
  isCandidate: true,
};

/** When a host first tries, of looks each 100 ms; `undefined` if it does not within a minute. */
function firstTry(
  look: (now: number) => Partial<Look>,
  from: LeadershipState = followingState,
  by: LeadershipRules = rules,
): { readonly now: number; readonly command: LeadershipCommand } | undefined {
  let state = from;
  for (let now = 0; now <= 60_000; now += 100) {
    const event: LeadershipEvent = { kind: 'look', look: { ...quiet, now, ...look(now) } };
    const after = leadershipAfter(state, event, by);
    if (after.command !== undefined) return { now, command: after.command };
    state = after.state;
  }
  return undefined;
}

describe('when a host tries to lead', () => {
  it('[replication 5.7] not while the leader beats', () => {
    expect(firstTry(() => ({}))).toBeUndefined();
    expect(firstTry(() => ({ beatAgeMillis: 1_999 }))).toBeUndefined();
  });

  it('[replication 5.7] once its beat is older than the lease', () => {
    expect(firstTry((now) => ({ beatAgeMillis: now }))).toEqual({ now: 2_000, command: 'claim' });
    expect(firstTry(() => ({ beatAgeMillis: undefined }))?.now).toBe(2_000);
  });

  it('[replication 5.7] not by a beat that is old at first sight: watched time counts', () => {
    expect(firstTry(() => ({ beatAgeMillis: 3_600_000 }))?.now).toBe(2_000);
  });

  it('[replication 5.7] an outage of the engine deposes nobody', () => {
    const outage = (now: number) => ({
      isEngineReached: now < 1_000 || now >= 31_000,
      beatAgeMillis: now < 31_000 ? now : 30_000,
    });
    expect(firstTry(outage)?.now).toBe(33_000);
    const healed = (now: number) => ({
      isEngineReached: now < 1_000 || now >= 31_000,
      beatAgeMillis: now < 31_500 ? now : 100,
    });
    expect(firstTry(healed)).toBeUndefined();
  });

  it('[replication 5.7] at once when it said goodbye, or its address refuses', () => {
    expect(firstTry((now) => ({ isGone: now >= 500 }))).toEqual({ now: 500, command: 'claim' });
    expect(firstTry((now) => ({ isGone: true, isAtEnd: now >= 700 }))?.now).toBe(700);
  });

  it('[replication 5.7] the better candidates first', () => {
    expect(firstTry((now) => ({ beatAgeMillis: now, rank: 2 }))?.now).toBe(2_200);
    expect(firstTry(() => ({ isGone: true, rank: 3 }))?.now).toBe(300);
    expect(firstTry(() => ({ term: 0, leader: undefined, rank: 1 }))?.now).toBe(100);
  });

  it('[replication 5.7] not by time in which this host looked at nothing', () => {
    const looked = (state: LeadershipState, now: number) => {
      const look = { ...quiet, now, beatAgeMillis: now };
      return leadershipAfter(state, { kind: 'look', look }, rules);
    };
    const { state } = looked(followingState, 0);
    // It stood still, and so may the leader have, which beats again in a moment.
    const woken = looked(state, 2_500);
    expect(woken.command).toBeUndefined();
    const soon = looked(looked(woken.state, 3_400).state, 4_300);
    expect(soon.command).toBeUndefined();
    expect(looked(soon.state, 4_500).command).toBe('claim');
  });

  it('[replication 5.7] a new term is watched from its beginning', () => {
    const look = (now: number) => ({ term: now < 1_500 ? 4 : 5, beatAgeMillis: now });
    expect(firstTry(look)?.now).toBe(3_500);
  });

  it('[replication 5.2] not before it has read to the end', () => {
    const look = (now: number) => ({ beatAgeMillis: now, isAtEnd: now >= 9_000 });
    expect(firstTry(look)?.now).toBe(9_000);
  });

  it('[replication 9.8, 12.5] not while it cannot apply entries, nor with a clock far off', () => {
    expect(firstTry((now) => ({ beatAgeMillis: now, isCandidate: false }))).toBeUndefined();
    expect(firstTry((now) => ({ beatAgeMillis: now, skewMillis: -10_001 }))).toBeUndefined();
    expect(firstTry((now) => ({ beatAgeMillis: now, skewMillis: 9_000 }))?.now).toBe(2_000);
  });

  it('[replication 9.4] at once when the log names it', () => {
    expect(firstTry(() => ({ leader: me }))).toEqual({ now: 0, command: 'takeUp' });
    expect(firstTry((now) => ({ leader: me, isAtEnd: now > 300 }))?.now).toBe(400);
  });

  it('[replication 9.4] again when the host it gave the term to does nothing for a second', () => {
    const handOver: LeadershipEvent = { kind: 'handOver', term: 4, now: 0 };
    const { state } = leadershipAfter({ kind: 'leading', term: 3 }, handOver, rules);
    expect(firstTry(() => ({ hasLeaderWritten: false }), state)?.now).toBe(1_000);
    expect(firstTry(() => ({ hasLeaderWritten: true }), state)).toBeUndefined();
    expect(firstTry(() => ({ term: 5, hasLeaderWritten: false }), state)).toBeUndefined();
  });

  it('[replication 5.11] with reads within a lease, not before it has had the end for one', () => {
    const first = (look: (now: number) => Partial<Look>, from?: LeadershipState) =>
      firstTry(look, from, { ...rules, isReadByLease: true })?.now;
    // Whatever else is seen of the leader: it refuses connections, or its beat is old.
    expect(first((now) => ({ isGone: true, endMillis: now }))).toBe(2_000);
    expect(first((now) => ({ beatAgeMillis: 3_600_000, endMillis: now - 700 }))).toBe(2_700);
    // A later entry starts the wait again; the k-th best candidate waits longer.
    const written = (now: number) => ({ isGone: true, endMillis: now < 1_500 ? now : now - 1_500 });
    expect(first(written)).toBe(3_500);
    expect(first((now) => ({ isGone: true, rank: 2, endMillis: now }))).toBe(2_200);
    // A leader that has written nothing for a lease answers no reads without the engine.
    expect(first((now) => ({ isGone: now >= 500 }))).toBe(500);
    // Where nobody has led, and where the log names this host, nobody is waited for.
    expect(first(() => ({ term: 0, leader: undefined, endMillis: 0 }))).toBe(0);
    expect(first(() => ({ leader: me, endMillis: 0 }))).toBe(0);
    const handOver: LeadershipEvent = { kind: 'handOver', term: 4, now: 0 };
    const { state } = leadershipAfter({ kind: 'leading', term: 3 }, handOver, rules);
    expect(first((now) => ({ hasLeaderWritten: false, endMillis: now }), state)).toBe(1_000);
    expect(firstTry((now) => ({ isGone: true, endMillis: now }))?.now).toBe(0);
  });

  it('[replication 5.1, 5.2, 5.4] leads when its claim was stored, and follows else', () => {
    const then = (state: LeadershipState, event: LeadershipEvent) =>
      leadershipAfter(state, event, rules);
    const trying: LeadershipState = { kind: 'trying' };
    const look: LeadershipEvent = { kind: 'look', look: { ...quiet, isGone: true } };
    expect(then(trying, look)).toEqual({ state: trying, command: undefined });
    const leading = { kind: 'leading', term: 5 } as const;
    expect(then(trying, { kind: 'claimEnded', term: 5 }).state).toEqual(leading);
    expect(then(trying, { kind: 'claimEnded', term: undefined }).state).toEqual(followingState);
    expect(then(leading, look)).toEqual({ state: leading, command: undefined });
    expect(then(leading, { kind: 'lost' }).state).toEqual(followingState);
    const failed = then(leading, { kind: 'fail', reason: 'log.diverged' }).state;
    expect(then(failed, look)).toEqual({ state: failed, command: undefined });
  });

  it('[replication 5.7] candidates are ranked by warmth, then offset, then placement', () => {
    const warm = { isWarm: true, appliedOffset: 10, placement: 5 };
    const candidates = [
      { ...warm, id: 1n },
      { ...warm, id: 2n, appliedOffset: 12 },
      { ...warm, id: 3n, isWarm: false, appliedOffset: 99 },
      { ...warm, id: 4n, placement: 1 },
      { ...warm, id: 5n },
    ];
    const ranks = candidates.map((candidate) => rankOf(candidate, candidates));
    expect(ranks).toEqual([2, 0, 4, 1, 3]);
  });

  it('[replication 5.8] a leader is unsure when nothing came back for a lease', () => {
    expect(isUnsure(5_000, 3_001, 2_000)).toBe(false);
    expect(isUnsure(5_000, 3_000, 2_000)).toBe(true);
  });
});
