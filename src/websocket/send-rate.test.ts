import { describe, expect, it } from 'vitest';
import { SendRate } from './send-rate.ts';

describe('[http 18.3] the rate at which a client is sent bytes', () => {
  it('is that of the last seconds', () => {
    const rate = new SendRate(0);
    rate.sent(3_000);
    expect(rate.perSecond(500)).toBe(0);
    expect(rate.perSecond(1_000)).toBe(3_000);
    rate.tick(4_000);
    expect(rate.perSecond(4_000)).toBe(750);
    rate.tick(5_000);
    expect(rate.perSecond(5_100)).toBe(600);
    rate.tick(10_000);
    expect(rate.perSecond(10_000)).toBe(0);
    rate.sent(100);
    expect(rate.perSecond(12_000)).toBe(50);
  });
});
