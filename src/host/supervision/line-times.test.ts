import { expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { LineTimes } from './line-times.ts';

const day = 86_400_000_000n;

function linesAt(...times: readonly bigint[]) {
  return times.map((micros) => ({ micros, line: { level: 'info', message: 'x' } as const }));
}

it('leaves the times of lines as they are, if they can be', () => {
  const clock = new TestClock();
  const times = new LineTimes(clock);
  const start = clock.nowMicros();
  clock.advance(1_000);
  const lines = linesAt(start, start + 5n, start + 5n, clock.nowMicros());
  expect(times.within(lines)).toEqual(lines);
});

it('has no line come from the future, or before the line that came before it', () => {
  const clock = new TestClock();
  const times = new LineTimes(clock);
  const start = clock.nowMicros();
  clock.advance(1_000);
  const now = clock.nowMicros();
  const micros = (...given: readonly bigint[]) =>
    times.within(linesAt(...given)).map((each) => each.micros);
  expect(micros(0n, start + 9n, start + 3n)).toEqual([start, start + 9n, start + 9n]);
  expect(micros(-day, now + day, start + day)).toEqual([start + 9n, now, now]);
  expect(micros(now - 1n)).toEqual([now]);
});

it('follows a clock that was set back', () => {
  const clock = new TestClock();
  const times = new LineTimes(clock);
  clock.advance(-3_600_000);
  const now = clock.nowMicros();
  expect(times.within(linesAt(now - 1n, now + day)).map(({ micros }) => micros)).toEqual([
    now,
    now,
  ]);
});
