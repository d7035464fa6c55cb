import { describe, expect, it } from 'vitest';
import type { RefusalBody } from '../../database/outcome.ts';
import { noTimes, spanCount } from '../../database/time-counts.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';
import { writeNumber } from '../../database/write-number.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { Vitals } from './vitals.ts';

const noFanOut = () => 0;

function vitals() {
  const clock = new TestClock();
  return { clock, vitals: new Vitals(clock) };
}

function requestOf(kind: DatabaseRequest['kind'], acceptedAt: number) {
  return { request: { kind }, acceptedAt };
}

const committed: DatabaseReply = {
  kind: 'called',
  outcome: { kind: 'committed', offset: commitOffset(1), micros: 0 },
};

describe('requests that wait', () => {
  it('[living 1.16] do so since the last turn ended, or since they came', () => {
    const { clock, vitals: seen } = vitals();
    const waited = (oldestAt: number | undefined) => seen.waits(oldestAt, noFanOut).requestMillis;
    clock.advance(10_000);
    const acceptedAt = clock.monotonicMillis();
    expect(waited(undefined)).toBe(0);
    clock.advance(300);
    expect(waited(acceptedAt)).toBe(300);
    seen.turned({ write: writeNumber(0) });
    clock.advance(40);
    expect(waited(acceptedAt)).toBe(40);
    // A turn in which a long read continues and nothing is handed over.
    seen.measured({ ...noTimes, turn: noTimes.turn.map((_, at) => (at === 0 ? 7 : 0)) });
    expect(waited(acceptedAt)).toBe(0);
    clock.advance(50);
    seen.measured({ ...noTimes, turn: noTimes.turn.map((_, at) => (at === 0 ? 7 : 0)) });
    expect(waited(acceptedAt)).toBe(50);
  });
});

describe('commits that are not durable', () => {
  it('[living 1.16] are as old as the oldest, by one sync too old at most', () => {
    const { clock, vitals: seen } = vitals();
    const age = () => seen.waits(undefined, noFanOut).undurableMillis;
    seen.turned({ write: writeNumber(1) });
    clock.advance(100);
    seen.turned({ write: writeNumber(2) });
    clock.advance(100);
    expect(age()).toBe(200);
    seen.durable(writeNumber(1));
    expect(age()).toBeLessThanOrEqual(200);
    expect(age()).toBeGreaterThanOrEqual(100);
    clock.advance(100);
    seen.turned({ write: writeNumber(3) });
    clock.advance(10);
    // The sync that began when the first one ended covers the second write.
    seen.durable(writeNumber(2));
    expect(age()).toBe(10);
    seen.turned({ write: writeNumber(3) });
    expect(age()).toBe(10);
    seen.durable(writeNumber(3));
    expect(age()).toBe(0);
    seen.turned({ write: writeNumber(4) });
    clock.advance(5);
    seen.opened();
    expect(age()).toBe(0);
  });

  it('hold updates back for as long', () => {
    const { clock, vitals: seen } = vitals();
    seen.turned({ write: writeNumber(1) });
    clock.advance(70);
    expect(seen.waits(undefined, (heldMillis) => heldMillis).fanOutMillis).toBe(70);
  });
});

describe('answers', () => {
  it('[operating] are timed until they leave, by what was asked and what came of it', () => {
    const { clock, vitals: seen } = vitals();
    const now = clock.monotonicMillis();
    const call = requestOf('call', now);
    const slot = seen.answered(call, committed);
    seen.owe(call, committed);
    const left = seen.owed();
    clock.advance(20);
    seen.left(slot, now);
    clock.advance(20);
    left();
    seen.owed()();
    const crashed = { kind: 'aborted', error: { code: 'reducer.crashed' }, micros: 0 } as const;
    seen.left(seen.answered(call, { kind: 'called', outcome: crashed }), now);
    seen.left(seen.answered(requestOf('disconnect', now), { kind: 'disconnected' }), now);
    const { answers, refusals } = seen.figures();
    const shown = answers.map(({ operation, outcome, times }) => [
      `${operation} ${outcome}`,
      spanCount(times),
      times.at(-1),
    ]);
    expect(shown).toEqual([
      ['call ok', 2, 60],
      ['call failed', 1, 40],
      // Shown from the start, so that the first ones are an increase.
      ['sql ok', 0, 0],
      ['subscribe ok', 0, 0],
      ['procedure ok', 0, 0],
      ['handler ok', 0, 0],
    ]);
    expect(refusals.get('reducer.crashed')).toBe(1);
    expect(seen.counts).toEqual({ callsCommitted: 2, callsAborted: 1, queries: 0 });
  });

  it('[operating] have no code but those that are known, whatever a process sends', () => {
    const { vitals: seen } = vitals();
    for (const code of ['x"} 1\nforged', '__proto__', 'constructor', 'name.taken']) {
      const body = { code, message: '' } as unknown as RefusalBody;
      seen.answered(requestOf('call', 0), { kind: 'refused', body });
    }
    const counted = [...seen.figures().refusals].filter(([, count]) => count > 0);
    expect(counted).toEqual([
      ['other', 3],
      ['name.taken', 1],
    ]);
  });
});

describe('faults', () => {
  it('[operating] are counted by reason, and blame a module for what it did alone', () => {
    const { vitals: seen } = vitals();
    seen.failed('budget', requestOf('call', 0));
    seen.failed('silent', requestOf('call', 0));
    seen.failed('bug', undefined);
    seen.failed('bug', requestOf('update', 0));
    const { faults, refusals } = seen.figures();
    expect([...faults].filter(([, count]) => count > 0)).toEqual([
      ['bug', 2],
      ['budget', 1],
      ['silent', 1],
    ]);
    expect(refusals.get('reducer.overBudget')).toBe(1);
    expect(refusals.get('database.stopped')).toBe(1);
  });
});

describe('calls that a canary is judged by', () => {
  it('[living 5.12] are those that were served: what was refused counts as nothing', () => {
    const { clock, vitals: seen } = vitals();
    const call = (reply: DatabaseReply) => {
      const asked = requestOf('call', clock.monotonicMillis());
      seen.left(seen.answered(asked, reply), asked.acceptedAt);
    };
    const aborted = (code: 'reducer.refused' | 'reducer.crashed' | 'arguments.invalid') => {
      call({
        kind: 'called',
        outcome: { kind: 'aborted', error: { code, message: '' }, micros: 0 },
      });
    };
    call(committed);
    aborted('reducer.crashed');
    for (let times = 0; times < 1_000; times += 1) {
      aborted('reducer.refused');
      aborted('arguments.invalid');
    }
    const { calls, failed, times } = seen.allCalls();
    expect([calls, failed, times.reduce((sum, count) => sum + count, 0)]).toEqual([2, 1, 2]);
  });
});
