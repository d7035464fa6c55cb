import { expect, it } from 'vitest';
import type { Alarm } from '../database/alarm.ts';
import { insideOf, type ScheduledRun, TestClock } from './test-clock.ts';

/** An actor that is due at each of these times, in milliseconds from now, and is slow to wake. */
function actorDueAt(clock: TestClock, name: string, dues: number[]) {
  const begin = clock.nowMicros();
  const { makeAlarm, ran } = insideOf(clock);
  const times = dues.map((due) => begin + BigInt(due) * 1_000n);
  const alarm: Alarm = makeAlarm(() => {
    setTimeout(() => {
      while ((times[0] ?? clock.nowMicros() + 1n) <= clock.nowMicros()) {
        const due = clock.now;
        times.shift();
        ran('reducer', () => ({
          ...{ schedule: name, function: 'f', row: undefined, due },
          outcome: 'committed',
        }));
      }
      alarm.set(times[0]);
    });
  });
  alarm.set(times[0]);
  return alarm;
}

const shown = (begin: bigint, runs: readonly ScheduledRun[]) =>
  runs.map(({ schedule, due }) => {
    return `${schedule} ${Number(due.microsSinceUnixEpoch - begin) / 1_000}`;
  });

it('moves at once where nothing becomes due', async () => {
  const clock = new TestClock();
  const begin = clock.nowMicros();
  actorDueAt(clock, 'later', [1_000]);
  const moved = clock.advance(999);
  expect(clock.nowMicros() - begin).toBe(999_000n);
  expect(await moved).toEqual([]);
});

it('[living 1.15] stops at each time at which something is due, and returns what ran', async () => {
  const clock = new TestClock();
  const begin = clock.nowMicros();
  actorDueAt(clock, 'a', [10, 30, 30, 500]);
  const gone = actorDueAt(clock, 'gone', [25]);
  actorDueAt(clock, 'b', [20, 100]);
  gone.dispose();
  const runs = await clock.advance(100);
  expect(shown(begin, runs)).toEqual(['a 10', 'b 20', 'a 30', 'a 30', 'b 100']);
  expect(clock.nowMicros() - begin).toBe(100_000n);
  expect(shown(begin, await clock.advance(400))).toEqual(['a 500']);
  expect(await clock.advance(400)).toEqual([]);
});

it('[living 1.15] moves one after the other, where moves are not waited for', async () => {
  const clock = new TestClock();
  const begin = clock.nowMicros();
  actorDueAt(clock, 'a', [10, 20, 30]);
  const moves = await Promise.all([clock.advance(15), clock.advance(10), clock.advance(100)]);
  expect(moves.map((runs) => shown(begin, runs))).toEqual([['a 10'], ['a 20'], ['a 30']]);
  expect(clock.nowMicros() - begin).toBe(125_000n);
});
