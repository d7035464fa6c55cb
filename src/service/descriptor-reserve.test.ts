import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { DescriptorReserve } from './descriptor-reserve.ts';

/** A machine whose clock the test controls. */
function machine(max: number | undefined, open: number | undefined) {
  const state = { open, now: 0, counts: 0 };
  const source = {
    max,
    count() {
      state.counts += 1;
      return state.open;
    },
  };
  return { state, reserve: new DescriptorReserve(source, () => state.now) };
}

describe('a reserve of descriptors', () => {
  it('lets clients have what is beyond it, however fast they come', () => {
    const max = limits.descriptorsKept + 1_000;
    const { reserve } = machine(max, 100);
    let taken = 0;
    while (taken < 5_000 && reserve.take()) taken += 1;
    // The first of them is among the 100 that were counted.
    expect(taken).toBe(901);
  });

  it('counts again when some may be free', () => {
    const max = limits.descriptorsKept + 1_000;
    const { state, reserve } = machine(max, 1_000);
    reserve.take();
    expect(reserve.take()).toBe(false);
    state.open = 500;
    expect(reserve.take()).toBe(false);
    state.now += 1_000;
    expect(reserve.take()).toBe(true);
  });

  it('counts rarely while there is much room', () => {
    const { state, reserve } = machine(1_000_000, 100);
    for (let each = 0; each < 1_000; each += 1) {
      state.now += 1;
      expect(reserve.take()).toBe(true);
    }
    expect(state.counts).toBe(1);
  });

  it('takes it that none is left when none is left to count with', () => {
    expect(machine(1_000, undefined).reserve.take()).toBe(false);
    expect(machine(undefined, undefined).reserve.take()).toBe(true);
  });

  it('says at the start what is too little, and what to do', () => {
    const least = limits.descriptorsMin;
    expect(() => machine(least - 1, 20)).toThrow(/needs at least \d+: raise the limit .*ulimit -n/);
    expect(machine(least, 20).reserve.warning(10_000)).toMatch(/10000 are allowed .*ulimit -n/);
    expect(machine(20_000, 20).reserve.warning(10_000)).toBe(undefined);
    expect(machine(undefined, 20).reserve.warning(10_000)).toBe(undefined);
  });
});
