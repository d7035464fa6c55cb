import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import {
  choiceFault,
  decodeOwnHistory,
  encodeOwnHistory,
  type HistoryChoice,
  settingsInForce,
  shownValue,
} from './history-choice.ts';

const day = 86_400_000_000n;
const own = (choice: HistoryChoice) => ({ choice, unbounded: [] });

describe('[history 3.11] what is kept', () => {
  it('has defaults that bound time and bytes', () => {
    expect(settingsInForce({})).toEqual({
      keepMicros: 7n * day,
      keepBytes: 2 * 1024 ** 3,
      keepCommits: undefined,
      onLowDisk: 'shrink',
    });
    expect(limits.historyKeepMillis).toBe(7 * 24 * 3_600_000);
  });

  it('is what the operator has configured, unless an owner keeps less', () => {
    const configured: HistoryChoice = { keepMicros: 3n * day, keepBytes: 500, keepCommits: 9 };
    expect(settingsInForce(configured)).toMatchObject(configured);
    const less = { keepMicros: day, keepBytes: 400, keepCommits: 2, onLowDisk: 'warn' } as const;
    expect(settingsInForce(configured, own(less))).toEqual(less);
    const more = { keepMicros: 'everything', keepBytes: 0, keepCommits: 10 } as const;
    expect(settingsInForce(configured, own(more))).toMatchObject(configured);
    const unbounded = ['keepMicros', 'keepBytes', 'keepCommits'] as const;
    expect(settingsInForce(configured, { choice: more, unbounded })).toMatchObject(more);
  });

  it('is more than the default for an owner where the operator has configured nothing', () => {
    const choice = { keepMicros: 'everything', keepBytes: 0, onLowDisk: 'warn' } as const;
    expect(settingsInForce({}, own(choice))).toMatchObject(choice);
    expect(choiceFault(choice, {})).toBeUndefined();
  });
});

describe('[history 3.11] a choice above what the operator allows', () => {
  it.each<readonly [HistoryChoice, HistoryChoice, string | undefined]>([
    [{ keepMicros: 30n * day }, { keepMicros: 7n * day }, '`keep` is 30d'],
    [{ keepMicros: 'everything' }, { keepMicros: 7n * day }, '`keep` is everything'],
    [{ keepMicros: 7n * day }, { keepMicros: 7n * day }, undefined],
    [{ keepMicros: 0n }, { keepMicros: 7n * day }, undefined],
    [{ keepMicros: 9n * day }, { keepMicros: 'everything' }, undefined],
    [{ keepBytes: 0 }, { keepBytes: 1024 }, '`keep-bytes` is any amount'],
    [{ keepBytes: 2048 }, { keepBytes: 1024 }, '`keep-bytes` is 2 KiB'],
    [{ keepBytes: 2048 }, { keepBytes: 0 }, undefined],
    [{ keepCommits: 10 }, { keepCommits: 9 }, '`keep-commits` is 10'],
    [{ onLowDisk: 'warn' }, { onLowDisk: 'shrink' }, '`on-low-disk` is warn'],
    [{ onLowDisk: 'shrink' }, { onLowDisk: 'warn' }, undefined],
    [{ keepMicros: 'everything' }, { onLowDisk: 'shrink' }, '`keep` is everything'],
  ])('%o where %o is configured', (choice, configured, fault) => {
    const found = choiceFault(choice, configured);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(new RegExp(`^${fault}; the operator of this service `));
  });
});

it('[history 3.11] the registry keeps what was chosen', () => {
  const choice = { keepMicros: 5n, keepBytes: 0, keepCommits: 7, onLowDisk: 'warn' } as const;
  const unbounded = ['keepBytes'] as const;
  for (const one of [
    { choice, unbounded },
    { choice: { keepMicros: 'everything' }, unbounded: [] },
    { choice: {}, unbounded: [] },
  ] as const) {
    expect(decodeOwnHistory(encodeOwnHistory(one))).toEqual(one);
  }
});

it.each<readonly [HistoryChoice, string]>([
  [{ keepMicros: 7n * day }, '7d'],
  [{ keepMicros: 36n * 3_600_000_000n }, '36h'],
  [{ keepMicros: 90_000_000n }, '90s'],
  [{ keepMicros: 5_000n }, '5ms'],
  [{ keepMicros: 0n }, '0'],
  [{ keepMicros: 'everything' }, 'everything'],
])('[history 3.11] %o is shown as %s', (choice, text) => {
  expect(shownValue(choice, 'keepMicros')).toBe(text);
});
