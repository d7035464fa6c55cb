import { describe, expect, it } from 'vitest';
import { StartGate } from '../workers/start-gate.ts';
import { KeyedLock } from './keyed-lock.ts';

const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('a lock by key', () => {
  it('runs work on one key in order, also after failures, and other keys beside it', async () => {
    const lock = new KeyedLock<string>();
    const notes: string[] = [];
    const work =
      (name: string, fails = false) =>
      async () => {
        notes.push(`${name} begins`);
        await pause();
        notes.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      };
    const results = Promise.allSettled([
      lock.with('k', work('a', true)),
      lock.with('k', work('b')),
      lock.with('other', work('c')),
    ]);
    await lock.idle();
    expect((await results).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(notes.indexOf('a ends')).toBeLessThan(notes.indexOf('b begins'));
    expect(notes.indexOf('c begins')).toBeLessThan(notes.indexOf('a ends'));
  });
});

describe('a gate', () => {
  it('lets so many in at once, the others in order', async () => {
    const gate = new StartGate(2);
    const entered: number[] = [];
    const leave = [await gate.enter(), await gate.enter()];
    const later = [1, 2].map(async (number) => {
      const out = await gate.enter();
      entered.push(number);
      out();
    });
    await pause();
    expect(entered).toEqual([]);
    leave[0]?.();
    leave[0]?.();
    await Promise.all(later);
    expect(entered).toEqual([1, 2]);
  });
});
