import * as peer from 'spacetimedb';
import { describe, expect, it } from 'vitest';
import * as ours from '../../src/server/index.ts';

const { Identity, ConnectionId, Timestamp, TimeDuration, Uuid } = ours;
const classes = { Identity, ConnectionId, Timestamp, TimeDuration, Uuid };
const published = peer as unknown as Record<string, unknown>;

/** Moved modules pass to the constructors what the published library takes. */
const inputs: readonly unknown[] = [
  0n,
  5n,
  2n ** 63n - 1n,
  0,
  5,
  2 ** 40,
  2 ** 60,
  1.5,
  Number.NaN,
  '0',
  '123',
  '0xff',
  '0xFF',
  'ff',
  'zz',
  '',
  ' ',
  '1.5',
  'c2'.padEnd(64, '0'),
  `0x${'c2'.padEnd(64, '0')}`,
  'ab'.padEnd(32, '0'),
  true,
  null,
  undefined,
  new Date(0),
  {},
];

describe('[module-sdk 13.1] constructors take what those of the published library take', () => {
  const wide = new Set<string>();
  for (const name of ['Identity', 'ConnectionId', 'Timestamp', 'TimeDuration', 'Uuid'] as const) {
    it.each(inputs.map((input) => [String(input), input]))(`${name} of %s`, (_text, input) => {
      const theirs = heldBy(published[name], input);
      const made = heldBy(classes[name], input);
      // What is out of range is refused here, and by the encoder there.
      const bits = name === 'Identity' ? 256n : name.endsWith('Id') ? 128n : 63n;
      if (typeof theirs === 'bigint' && theirs >= 2n ** bits) wide.add(name);
      else expect(made).toBe(theirs);
    });
  }

  it('and refuse integers that are out of range', () => {
    expect([...wide].sort()).toEqual(['ConnectionId', 'TimeDuration', 'Timestamp']);
    expect(() => new Timestamp(2 ** 63)).toThrow(RangeError);
    expect(() => new TimeDuration(`${2n ** 63n}`)).toThrow(RangeError);
    expect(() => new ConnectionId(-1)).toThrow(RangeError);
    expect(() => new Identity(-5)).toThrow(RangeError);
    expect(new Timestamp('-5').microsSinceUnixEpoch).toBe(-5n);
  });

  it('and say what they take', () => {
    expect(() => new Timestamp(new Date() as never)).toThrow('a timestamp is an integer or digits');
    expect(() => new Timestamp(1.5)).toThrow(RangeError);
    expect(() => new Timestamp('2026-01-01')).toThrow(SyntaxError);
  });
});

/** The integer inside, or `refused`. */
function heldBy(valueClass: unknown, input: unknown): unknown {
  try {
    const made = new (valueClass as new (value: unknown) => object)(input);
    return Object.values(made)[0];
  } catch {
    return 'refused';
  }
}
