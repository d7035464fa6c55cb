import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import type { Canary } from '../deployed/deploy.ts';
import { RecentCalls } from '../supervision/recent-calls.ts';
import { CanaryWatch } from './canary-watch.ts';
import { beforeOf } from './judge-canary.ts';

/** A database whose calls, and time, a test makes. */
class Story {
  readonly calls = new RecentCalls();
  now = 1_000_000;

  /** So many calls, one a millisecond, each of which takes so long; some of them fail. */
  call(count: number, { millis = 1, failed = 0 } = {}): void {
    for (let number = 0; number < count; number += 1) {
      this.calls.answered(number < failed);
      this.calls.took(millis, this.now);
      this.now += 1;
    }
  }

  watch(seconds = 60): CanaryWatch {
    const before = beforeOf(this.calls.lastMinute(this.now));
    const canary: Canary = { seconds, state: 'watched', reason: '', before };
    return new CanaryWatch(canary, this.now, this.calls.figures());
  }

  look(watch: CanaryWatch) {
    return watch.look(this.now, this.calls.figures());
  }
}

describe('[living 5.12] the judge of a canary', () => {
  it('wants more than 5 % of failures, from 50 calls on', () => {
    const story = new Story();
    const watch = story.watch();
    story.call(49, { failed: 49 });
    expect(story.look(watch)).toEqual({ kind: 'watched' });
    story.call(1, { failed: 1 });
    expect(story.look(watch)).toEqual({
      kind: 'faulty',
      reason: '50 of 50 calls failed (100 %)',
    });
    const other = new Story();
    const patient = other.watch();
    other.call(100, { failed: 5 });
    expect(other.look(patient)).toEqual({ kind: 'watched' });
    other.call(1, { failed: 1 });
    expect(other.look(patient)).toMatchObject({ kind: 'faulty' });
  });

  it('compares failures with the minute before: a program that improves stays', () => {
    const story = new Story();
    story.call(100, { failed: 40 });
    const watch = story.watch();
    story.call(100, { failed: 20 });
    expect(story.look(watch)).toEqual({ kind: 'watched' });
    story.call(100, { failed: 100 });
    expect(story.look(watch)).toEqual({
      kind: 'faulty',
      // The first call marks the count, and is not among those that came after the mark.
      reason: '120 of 200 calls failed (60 %, 39.4 % in the minute before)',
    });
  });

  it('forgets what came more than a minute before', () => {
    const story = new Story();
    story.call(100, { failed: 100 });
    story.now += limits.canaryBeforeMillis + 1;
    story.call(200);
    const watch = story.watch();
    story.call(100, { failed: 6 });
    expect(story.look(watch)).toMatchObject({ kind: 'faulty' });
  });

  it('wants 99 of 100 calls within ten times of before', () => {
    const story = new Story();
    story.call(1_000, { millis: 2 });
    const watch = story.watch();
    story.call(1_000, { millis: 16 });
    expect(story.look(watch)).toEqual({ kind: 'watched' });
    story.call(9, { millis: 200 });
    expect(story.look(watch)).toEqual({ kind: 'watched' });
    story.call(100, { millis: 30 });
    expect(story.look(watch)).toEqual({
      kind: 'faulty',
      reason: '99 of 100 calls took up to 32.8 ms, 2.05 ms in the minute before',
    });
  });

  it('does not compare times with those of a few calls, or of none', () => {
    const story = new Story();
    story.call(49, { millis: 0.1 });
    const watch = story.watch();
    story.call(1_000, { millis: 5_000 });
    expect(story.look(watch)).toEqual({ kind: 'watched' });
  });

  it('ends with its time, and says how many calls it has seen', () => {
    const story = new Story();
    const watch = story.watch(2);
    story.call(3, { failed: 3 });
    story.now += 1_996;
    expect(story.look(watch)).toEqual({ kind: 'watched' });
    story.now += 1;
    expect(story.look(watch)).toEqual({
      kind: 'passed',
      reason: 'only 3 calls came: too few to judge it (50)',
    });
    story.call(90, { failed: 1 });
    expect(story.look(watch)).toEqual({ kind: 'passed', reason: '4 of 93 calls failed' });
  });

  it('says that nothing was judged where no call came', () => {
    const story = new Story();
    const watch = story.watch(2);
    story.now += 2_000;
    const reason = 'no call came, so nothing was judged (50 would be)';
    expect(story.look(watch)).toEqual({ kind: 'passed', reason });
  });
});

describe('[living 5.12] times of calls', () => {
  it('are right to a quarter, over all magnitudes', () => {
    for (const millis of [0.001, 0.03, 0.5, 1, 7.7, 99, 1_234, 60_000]) {
      const story = new Story();
      story.call(10, { millis });
      const { p99Millis } = beforeOf(story.calls.figures());
      expect(p99Millis, `${millis} ms`).toBeGreaterThan(millis);
      expect(p99Millis, `${millis} ms`).toBeLessThanOrEqual(millis * 2 + 0.001);
      if (millis >= 0.03) expect(p99Millis / millis).toBeLessThanOrEqual(1.26);
    }
  });

  it('beyond all buckets, or below zero, are counted as well', () => {
    const story = new Story();
    story.call(1, { millis: 1e12 });
    story.call(1, { millis: -5 });
    expect(story.calls.figures().times.reduce((sum, count) => sum + count, 0)).toBe(2);
  });
});
