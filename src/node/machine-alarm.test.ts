import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Alarm } from '../database/alarm.ts';
import { limits } from '../limits.ts';
import { machineAlarms } from './machine-alarm.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A clock in milliseconds that timers follow, and the times at which an alarm rang. */
function clocked() {
  const time = { millis: 1_000 };
  const rings: number[] = [];
  const clock = { nowMicros: () => BigInt(time.millis) * 1_000n };
  const alarm: Alarm = machineAlarms(clock)(() => rings.push(time.millis));
  const pass = (millis: number): void => {
    for (let at = 0; at < millis; at++) {
      time.millis += 1;
      vi.advanceTimersByTime(1);
    }
  };
  return { time, rings, alarm, pass };
}

const micros = (millis: number) => BigInt(millis) * 1_000n;

describe('an alarm of the machine', () => {
  it('rings at its time, and once', () => {
    const { rings, alarm, pass } = clocked();
    alarm.set(micros(1_250));
    pass(10_000);
    expect(rings).toEqual([1_250]);
  });

  it('rings at once when its time is past', () => {
    const { rings, alarm, pass } = clocked();
    alarm.set(-5n);
    pass(10);
    expect(rings).toEqual([1_001]);
  });

  it('does not ring before a time within a millisecond', () => {
    const { rings, alarm, pass } = clocked();
    alarm.set(micros(1_250) + 1n);
    pass(10_000);
    expect(rings).toEqual([1_251]);
  });

  it('has one time, and none after it was set to none or disposed of', () => {
    const { rings, alarm, pass } = clocked();
    alarm.set(micros(1_100));
    alarm.set(micros(1_200));
    pass(300);
    expect(rings).toEqual([1_200]);
    alarm.set(micros(1_400));
    alarm.set(undefined);
    pass(300);
    alarm.set(micros(1_700));
    alarm.dispose();
    pass(300);
    expect(rings).toEqual([1_200]);
  });

  it('rings every few seconds on the way to a far time', () => {
    const { rings, alarm, pass } = clocked();
    alarm.set(micros(2 ** 45));
    pass(2 * limits.alarmMillisMax);
    expect(rings).toEqual([1_000 + limits.alarmMillisMax, 1_000 + 2 * limits.alarmMillisMax]);
  });

  it('notices within seconds that the clock was set forward', () => {
    const { time, rings, alarm, pass } = clocked();
    alarm.set(micros(10_000_000));
    pass(100);
    time.millis = 20_000_000;
    pass(limits.alarmMillisMax);
    expect(rings).toEqual([20_000_000 + limits.alarmMillisMax - 100]);
    pass(limits.alarmMillisMax);
    expect(rings).toHaveLength(1);
  });
});
