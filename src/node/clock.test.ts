import { describe, expect, it } from 'vitest';
import { MachineClock } from './clock.ts';
import { MachineEntropy } from './entropy.ts';

describe('the machine clock', () => {
  it('[abi 10.2] tells the time in microseconds, and does not go back', () => {
    const clock = new MachineClock();
    let last = clock.nowMicros();
    expect(Math.abs(Number(last / 1000n) - Date.now())).toBeLessThan(1000);
    const seen = new Set<bigint>();
    const end = clock.monotonicMillis() + 20;
    while (clock.monotonicMillis() < end) {
      const now = clock.nowMicros();
      expect(now >= last).toBe(true);
      last = now;
      seen.add(now);
    }
    expect(seen.size).toBeGreaterThan(100);
  });
});

describe('the machine entropy', () => {
  it('fills every size with bytes that do not repeat', () => {
    const entropy = new MachineEntropy();
    const seen = new Set<string>();
    for (let round = 0; round < 5000; round++) {
      const bytes = new Uint8Array(32);
      entropy.fill(bytes);
      seen.add(String(bytes));
    }
    expect(seen.size).toBe(5000);
    for (const length of [0, 1, 4096, 4097, 100_000]) {
      const bytes = new Uint8Array(length);
      entropy.fill(bytes);
      if (length > 100) expect(new Set(bytes).size).toBe(256);
    }
  });
});
