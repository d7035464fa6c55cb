import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { SeatEnd, SeatMode } from '../seats/seat.ts';
import { Reopening } from './reopening.ts';

const open: SeatMode = { kind: 'open', skipFirstDisconnect: false };

/** Ends that follow one another at once, each while it served or not. */
function endings(cause: SeatEnd['cause'], wasServing: boolean, mode: SeatMode = open) {
  const clock = new TestClock();
  const reopening = new Reopening(clock);
  reopening.opened();
  const told = Array.from({ length: 3 }, () =>
    reopening.ended({ cause, running: undefined }, mode, wasServing),
  );
  return { clock, reopening, told };
}

describe('a database that ends again and again', () => {
  it.each(['died', 'silent', 'bug'] as const)('is tried again for a request: %s', (cause) => {
    const { clock, reopening, told } = endings(cause, true);
    expect(told).toEqual(['reopens', 'reopens', 'broken']);
    expect(reopening.isDue).toBe(false);
    void clock.advance(limits.reopenMillisMin);
    expect(reopening.isDue).toBe(true);
    reopening.begun();
    reopening.opened();
    expect(reopening.ended({ cause, running: undefined }, open, true)).toBe('broken');
    expect(reopening.waitMillis).toBe(2 * limits.reopenMillisMin);
  });

  it('is left alone where each start would end the same way', () => {
    expect(endings('bug', false).reopening.waitMillis).toBe(Number.POSITIVE_INFINITY);
    for (const cause of ['refused', 'sync', 'superseded'] as const) {
      const { reopening, told } = endings(cause, true);
      expect(told[0]).toBe('broken');
      expect(reopening.waitMillis).toBe(Number.POSITIVE_INFINITY);
    }
  });
});
