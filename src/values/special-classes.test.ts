import { describe, expect, it } from 'vitest';
import { ConnectionId, connectionIdFromHex } from './connection-id.ts';
import { toHex } from './hex.ts';
import { Identity, identityFromHex, identityToHex } from './identity.ts';
import { ScheduleAt } from './schedule-at.ts';
import { TimeDuration } from './time-duration.ts';
import { Timestamp, timestampFromText, timestampToText } from './timestamp.ts';
import { Uuid, uuidFromText } from './uuid.ts';

const hex = 'c200a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e';

describe('[module-sdk 13.1] Identity', () => {
  it('is written as 64 digits, most significant first', () => {
    expect(new Identity(hex).toHexString()).toBe(hex);
    expect(Identity.fromString(`0x${hex.toUpperCase()}`).toString()).toBe(hex);
    expect(new Identity(255n).toHexString()).toBe(`${'0'.repeat(62)}ff`);
    expect(Identity.zero().__identity__).toBe(0n);
    expect(toHex(new Identity(255n).toUint8Array())).toBe(`ff${'0'.repeat(62)}`);
  });

  it('compares by value', () => {
    expect(new Identity(hex).isEqual(new Identity(BigInt(`0x${hex}`)))).toBe(true);
    expect(new Identity(1n).equals(new Identity(2n))).toBe(false);
  });

  it('is refused outside of 256 bits', () => {
    for (const text of ['', 'c2', `${hex}0`, `0x${hex}0`, hex.replace('c', 'g'), ` ${hex}`]) {
      expect(identityFromHex(text)).toBeUndefined();
      expect(() => new Identity(text)).toThrow(SyntaxError);
    }
    expect(() => new Identity(-1n)).toThrow(RangeError);
    expect(() => new Identity(2n ** 256n)).toThrow(RangeError);
    expect(identityToHex(0n)).toHaveLength(64);
  });
});

describe('[module-sdk 13.1] ConnectionId', () => {
  it('is written as 32 digits', () => {
    const id = ConnectionId.fromString('0102030405060708090a0b0c0d0e0f10');
    expect(id.__connection_id__).toBe(1339673755198158349044581307228491536n);
    expect(id.toHexString()).toBe('0102030405060708090a0b0c0d0e0f10');
    expect(toHex(id.toUint8Array())).toBe('100f0e0d0c0b0a090807060504030201');
    expect(id.isEqual(new ConnectionId(id.__connection_id__))).toBe(true);
    expect(() => ConnectionId.fromString('01')).toThrow(SyntaxError);
    expect(() => new ConnectionId(2n ** 128n)).toThrow(RangeError);
    expect(connectionIdFromHex(`0x${'0'.repeat(32)}`)).toBe(0n);
  });

  it('is none when zero', () => {
    expect(ConnectionId.fromStringOrNull('0'.repeat(32))).toBeNull();
    expect(ConnectionId.nullIfZero(new ConnectionId(1n))).toEqual(new ConnectionId(1n));
    expect(new ConnectionId(0n).isZero()).toBe(true);
  });

  it('is random and never zero', () => {
    expect(ConnectionId.random().isZero()).toBe(false);
    expect(ConnectionId.random().isEqual(ConnectionId.random())).toBe(false);
    expect(ConnectionId.random(() => 0).isZero()).toBe(false);
    expect(ConnectionId.random(() => 255).__connection_id__).toBe(2n ** 128n - 1n);
  });
});

describe('[module-sdk 13.1] Timestamp', () => {
  it('[values 7] is written in UTC, with a fraction as short as exact', () => {
    expect(timestampToText(1739788245123456n)).toBe('2025-02-17T10:30:45.123456+00:00');
    expect(timestampToText(1739788245120000n)).toBe('2025-02-17T10:30:45.120+00:00');
    expect(timestampToText(1739788245000000n)).toBe('2025-02-17T10:30:45+00:00');
    expect(timestampToText(1739788245000100n)).toBe('2025-02-17T10:30:45.000100+00:00');
    expect(timestampToText(0n)).toBe('1970-01-01T00:00:00+00:00');
    expect(timestampToText(-1n)).toBe('1969-12-31T23:59:59.999999+00:00');
    expect(timestampToText(-1_000_000n)).toBe('1969-12-31T23:59:59+00:00');
    expect(timestampToText(-(2n ** 63n))).toBe('-290308-12-21T19:59:05.224192+00:00');
    expect(timestampToText(2n ** 63n - 1n)).toBe('+294247-01-10T04:00:54.775807+00:00');
  });

  it('agrees with Date where that reaches', () => {
    for (let day = -400_000; day < 400_000; day += 1237) {
      const millis = day * 86_400_000 + 12_345_678;
      const at = Timestamp.fromDate(new Date(millis));
      expect(timestampToText(at.microsSinceUnixEpoch)).toMatch(
        // Beyond four digits Date pads years to six.
        `${new Date(millis)
          .toISOString()
          .slice(0, -1)
          .replace(/^([+-])00/, '$1')
          .replace('+', '')}`,
      );
      expect(at.toDate().getTime()).toBe(millis);
    }
  });

  it('has six digits as ISO text, also before 1970', () => {
    expect(new Timestamp(-1n).toISOString()).toBe('1969-12-31T23:59:59.999999Z');
    expect(new Timestamp(1739788245123456n).toISOString()).toBe('2025-02-17T10:30:45.123456Z');
  });

  it('converts, rounding down', () => {
    expect(new Timestamp(-1n).toMillis()).toBe(-1n);
    expect(new Timestamp(1999n).toMillis()).toBe(1n);
    expect(new Timestamp(-1n).toDate().getTime()).toBe(-1);
    expect(() => new Timestamp(2n ** 63n - 1n).toDate()).toThrow(RangeError);
    expect(() => Timestamp.fromDate(new Date(Number.NaN))).toThrow(RangeError);
    expect(() => new Timestamp(2n ** 63n)).toThrow(RangeError);
    expect(new Timestamp(5n).since(new Timestamp(7n)).micros).toBe(-2n);
    expect(Timestamp.UNIX_EPOCH.microsSinceUnixEpoch).toBe(0n);
    expect(Timestamp.now().toMillis()).toBeGreaterThan(1_700_000_000_000n);
  });

  it('is read from RFC 3339', () => {
    expect(timestampFromText('2025-02-17T10:30:45.123456+00:00')).toBe(1739788245123456n);
    expect(timestampFromText('2025-02-17t10:30:45z')).toBe(1739788245000000n);
    expect(timestampFromText('2025-02-17 12:30:45.1+02:00')).toBe(1739788245100000n);
    expect(timestampFromText('2025-02-17T10:30:45.1234569Z')).toBe(1739788245123456n);
    expect(timestampFromText('1969-12-31T23:59:59.999999Z')).toBe(-1n);
    expect(timestampFromText('2024-02-29T00:00:00Z')).toBeDefined();
    for (const text of [
      '2025-02-29T00:00:00Z',
      '2025-02-17',
      '2025-02-17T10:30:45',
      '2025-13-01T00:00:00Z',
      '2025-01-01T24:00:00Z',
      '2025-01-01T00:00:60Z',
      '2025-01-01T00:00:00+24:00',
      'x',
    ]) {
      expect(timestampFromText(text)).toBeUndefined();
    }
  });

  it('reads back what it writes', () => {
    for (const micros of [
      0n,
      -1n,
      1n,
      1739788245123456n,
      -62135596800000000n,
      253402300799999999n,
    ]) {
      expect(timestampFromText(timestampToText(micros))).toBe(micros);
    }
  });
});

describe('[module-sdk 13.1] TimeDuration and ScheduleAt', () => {
  it('[values 7] is written with sign and six digits', () => {
    expect(new TimeDuration(1_500_000n).toString()).toBe('+1.500000');
    expect(new TimeDuration(-250n).toString()).toBe('-0.000250');
    expect(new TimeDuration(0n).toString()).toBe('+0.000000');
  });

  it('converts to and from milliseconds', () => {
    expect(TimeDuration.fromMillis(1.5).micros).toBe(1500n);
    expect(TimeDuration.fromMillis(-0.0004).micros).toBe(0n);
    expect(new TimeDuration(-250n).millis).toBe(-0.25);
    expect(() => TimeDuration.fromMillis(Infinity)).toThrow(RangeError);
    expect(() => TimeDuration.fromMillis(1e18)).toThrow(RangeError);
    expect(new TimeDuration(1n).equals(new TimeDuration(1n))).toBe(true);
  });

  it('schedules by interval or time', () => {
    expect(ScheduleAt.interval(5n)).toEqual({ tag: 'Interval', value: new TimeDuration(5n) });
    expect(ScheduleAt.time(5n)).toEqual({ tag: 'Time', value: new Timestamp(5n) });
    const every = new TimeDuration(5n);
    expect(ScheduleAt.interval(every)).toEqual({ tag: 'Interval', value: every });
    const at = new Timestamp(5n);
    expect(ScheduleAt.time(at)).toEqual({ tag: 'Time', value: at });
    const date = new Date() as unknown as Timestamp;
    expect(() => ScheduleAt.time(date)).toThrow('a timestamp is an integer or digits');
  });
});

describe('[module-sdk 13.1] Uuid', () => {
  const text = '01888d6e-5c00-7000-8000-000000000000';

  it('is read in every usual form', () => {
    const value = 2038248931870793702824066173118709760n;
    const bare = text.replaceAll('-', '');
    for (const form of [text, text.toUpperCase(), bare, `{${text}}`, `urn:uuid:${text}`]) {
      expect(uuidFromText(form)).toBe(value);
    }
    for (const form of ['', `${text}0`, `{${text}`, text.replace('-', ''), `g${text.slice(1)}`]) {
      expect(uuidFromText(form)).toBeUndefined();
    }
    expect(() => Uuid.parse('x')).toThrow(SyntaxError);
    expect(Uuid.parse(text).toString()).toBe(text);
    expect(Uuid.parse(text).toHexString()).toBe(bare);
    expect(toHex(Uuid.parse(text).toBytes())).toBe(bare);
    expect(Uuid.parse(text).asBigInt()).toBe(value);
  });

  it('[values 3] of version 7 holds time, counter and randomness', () => {
    const counter = { value: 1 };
    const now = new Timestamp(1_686_000_000_000n);
    const id = Uuid.fromCounterV7(counter, now, new Uint8Array(4));
    expect(id.toString()).toBe('0000647e-5180-7000-8000-000200000000');
    expect(counter.value).toBe(2);
    expect(id.getVersion()).toBe('V7');
    expect(id.getCounter()).toBe(1);
  });

  it('of version 7 orders by counter, which wraps at 31 bits', () => {
    const random = Uint8Array.of(255, 255, 255, 255);
    const now = new Timestamp(1_686_000_000_000_000n);
    for (const value of [0, 127, 128, 32_767, 8_388_607, 8_388_608, 0x7fff_fffe]) {
      const counter = { value };
      const first = Uuid.fromCounterV7(counter, now, random);
      const second = Uuid.fromCounterV7(counter, now, random);
      expect(first.getCounter()).toBe(value);
      expect(second.getCounter()).toBe(value + 1);
      expect(first.compareTo(second)).toBeLessThan(0);
    }
    const counter = { value: 0x7fff_ffff };
    expect(Uuid.fromCounterV7(counter, now, random).getCounter()).toBe(0x7fff_ffff);
    expect(counter.value).toBe(0);
    expect(() => Uuid.fromCounterV7(counter, new Timestamp(-1n), random)).toThrow(RangeError);
    expect(() => Uuid.fromCounterV7(counter, now, new Uint8Array(3))).toThrow(RangeError);
  });

  it('of version 4 is random but for version and variant', () => {
    const id = Uuid.fromRandomBytesV4(new Uint8Array(16).fill(255));
    expect(id.toString()).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff');
    expect(id.getVersion()).toBe('V4');
    expect(Uuid.fromRandomBytesV4(new Uint8Array(16)).toString()).toBe(
      '00000000-0000-4000-8000-000000000000',
    );
    expect(() => Uuid.fromRandomBytesV4(new Uint8Array(15))).toThrow(RangeError);
  });

  it('tells its version', () => {
    expect(Uuid.NIL.getVersion()).toBe('Nil');
    expect(Uuid.MAX.getVersion()).toBe('Max');
    expect(new Uuid(1n << 76n).getVersion()).toBeUndefined();
    expect(Uuid.NIL.compareTo(Uuid.MAX)).toBe(-1);
    expect(Uuid.MAX.compareTo(Uuid.MAX)).toBe(0);
    expect(Uuid.NIL.isEqual(new Uuid(0n))).toBe(true);
  });
});
