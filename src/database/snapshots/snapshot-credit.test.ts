import { describe, expect, it } from 'vitest';
import { SnapshotCredit } from './snapshot-credit.ts';

describe('[history 2.2] the credit of a busy database', () => {
  it('is a tenth of the time, from a quarter of a millisecond on, and at most one', () => {
    const credit = new SnapshotCredit(100);
    credit.pass(102, 0.1, false);
    expect(credit.slice).toBe(0);
    expect(credit.missing(0.1)).toBeCloseTo(0.5);
    credit.pass(102.5, 0.1, false);
    expect(credit.slice).toBeCloseTo(0.25);
    credit.pass(200, 0.1, false);
    expect(credit.slice).toBe(1);
    credit.spend(1.2);
    credit.pass(203, 0.1, false);
    expect(credit.slice).toBe(0);
    credit.pass(206, 0.1, false);
    expect(credit.slice).toBeCloseTo(0.4);
  });

  it('[history 2.3] is not saved up while blocks are on their way', () => {
    const credit = new SnapshotCredit(0);
    credit.pass(50, 0.1, true);
    expect(credit.slice).toBe(0);
    credit.pass(55, 0.25, false);
    expect(credit.slice).toBe(1);
  });
});
