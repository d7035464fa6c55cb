import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Notices } from './notices.ts';

let told: string[];
let notices: Notices;

beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  notices = new Notices(250, (what) => told.push(what));
});
afterEach(() => vi.useRealTimers());

describe('notices', () => {
  it('[mcp B5] tell the first change at once, and those that follow together, each once', () => {
    for (const what of ['a', 'b', 'a', 'b', 'b']) notices.note(what);
    expect(told).toEqual(['a']);
    vi.advanceTimersByTime(249);
    expect(told).toEqual(['a']);
    vi.advanceTimersByTime(1);
    expect(told).toEqual(['a', 'b', 'a']);
  });

  it('[mcp B5] come at most four times a second, and the last change is among them', () => {
    for (let millis = 0; millis < 1_000; millis += 10) {
      notices.note('a');
      vi.advanceTimersByTime(10);
    }
    expect(told.length).toBeLessThanOrEqual(5);
    const before = told.length;
    notices.note('a');
    vi.advanceTimersByTime(1_000);
    expect(told.length).toBe(before + 1);
  });

  it('[mcp B5] after a quiet time are told at once again, and never when closed', () => {
    notices.note('a');
    vi.advanceTimersByTime(1_000);
    notices.note('b');
    expect(told).toEqual(['a', 'b']);
    notices.note('c');
    notices.close();
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual(['a', 'b']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
