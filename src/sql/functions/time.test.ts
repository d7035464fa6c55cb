import { describe, expect, it } from 'vitest';
import {
  callFunction as call,
  nowMicros,
  resultType,
  typed,
} from '../../../test/sql/call-function.ts';
import { present } from '../../assert.ts';
import { timeDurationType, timestampType } from '../../values/special-types.ts';
import { timestampFromText, timestampToText } from '../../values/timestamp.ts';
import { scalarTypes } from './value-kind.ts';

function at(text: string) {
  const micros = timestampFromText(text.length === 10 ? `${text}T00:00:00Z` : text);
  return typed(timestampType, present(micros, text));
}

const day = 86_400_000_000n;
const duration = (micros: bigint) => typed(timeDurationType, micros);

describe('time functions', () => {
  it('now is the moment of the statement', () => {
    expect(call('now')).toBe(nowMicros);
    expect(call('current_timestamp')).toBe(nowMicros);
  });

  it.each([
    ['microsecond', '2025-02-17T10:30:45.123456+00:00'],
    ['milliseconds', '2025-02-17T10:30:45.123+00:00'],
    ['second', '2025-02-17T10:30:45+00:00'],
    ['MINUTE', '2025-02-17T10:30:00+00:00'],
    ['hour', '2025-02-17T10:00:00+00:00'],
    ['day', '2025-02-17T00:00:00+00:00'],
    ['week', '2025-02-17T00:00:00+00:00'],
    ['month', '2025-02-01T00:00:00+00:00'],
    ['quarter', '2025-01-01T00:00:00+00:00'],
    ['year', '2025-01-01T00:00:00+00:00'],
    ['decade', '2020-01-01T00:00:00+00:00'],
    ['century', '2001-01-01T00:00:00+00:00'],
    ['millennium', '2001-01-01T00:00:00+00:00'],
  ])('date_trunc to %s', (unit, expected) => {
    const result = call('date_trunc', unit, typed(timestampType, nowMicros));
    expect(timestampToText(result as bigint)).toBe(expected);
  });

  it('date_trunc rounds down, also before 1970 and at the ends of years', () => {
    const trunc = (unit: string, text: string) =>
      timestampToText(call('date_trunc', unit, at(text)) as bigint);
    expect(trunc('hour', '1969-12-31T23:59:59Z')).toBe('1969-12-31T23:00:00+00:00');
    expect(trunc('week', '2025-02-23')).toBe('2025-02-17T00:00:00+00:00');
    expect(trunc('week', '1970-01-01')).toBe('1969-12-29T00:00:00+00:00');
    expect(trunc('quarter', '2024-12-31')).toBe('2024-10-01T00:00:00+00:00');
    expect(trunc('century', '2000-12-31')).toBe('1901-01-01T00:00:00+00:00');
    expect(() => call('date_trunc', 'year', typed(timestampType, -(2n ** 63n)))).toThrow(
      'does not fit Timestamp',
    );
  });

  it.each([
    ['year', 2025],
    ['month', 2],
    ['day', 17],
    ['hour', 10],
    ['minute', 30],
    ['second', 45.123456],
    ['millisecond', 45_123.456],
    ['microseconds', 45_123_456],
    ['epoch', 1_739_788_245.123456],
    ['dow', 1],
    ['isodow', 1],
    ['doy', 48],
    ['week', 8],
    ['isoyear', 2025],
    ['quarter', 1],
    ['decade', 202],
    ['century', 21],
    ['millennium', 3],
  ])('extract %s', (field, expected) => {
    expect(call('extract', field, typed(timestampType, nowMicros))).toBe(expected);
    expect(call('date_part', field, typed(timestampType, nowMicros))).toBe(expected);
  });

  it('weeks belong to the year of their Thursday', () => {
    const week = (text: string) => [
      call('extract', 'isoyear', at(text)),
      call('extract', 'week', at(text)),
    ];
    expect(week('2021-01-03')).toEqual([2020, 53]);
    expect(week('2021-01-04')).toEqual([2021, 1]);
    expect(week('2024-12-30')).toEqual([2025, 1]);
    expect(call('extract', 'dow', at('2021-01-03'))).toBe(0);
    expect(call('extract', 'isodow', at('2021-01-03'))).toBe(7);
    expect(call('extract', 'doy', at('2024-12-31'))).toBe(366);
    expect(call('extract', 'hour', at('1969-12-31T23:30:00Z'))).toBe(23);
  });

  it('durations have days, what is left of a day, and no months', () => {
    const length = duration(2n * day + 3_723_500_000n);
    const part = (field: string) => call('extract', field, length);
    expect([part('day'), part('hour'), part('minute'), part('second')]).toEqual([2, 1, 2, 3.5]);
    expect(part('epoch')).toBe(176_523.5);
    expect(call('extract', 'hour', duration(-3_600_000_000n))).toBe(-1);
    expect(() => part('month')).toThrow('no fixed length');
    expect(call('date_trunc', 'hour', length)).toBe(2n * day + 3_600_000_000n);
    expect(() => call('date_trunc', 'year', length)).toThrow('no fixed length');
  });

  it('unknown units are errors', () => {
    expect(() => call('extract', 'fortnight', at('2025-01-01'))).toThrow(
      "'fortnight' is not a unit of time",
    );
    expect(() => call('date_trunc', 'epoch', at('2025-01-01'))).toThrow('is not a unit of time');
  });

  it('moments are made from numbers and turned into them', () => {
    expect(call('to_timestamp', 1.5)).toBe(1_500_000n);
    expect(call('to_timestamp', 5n)).toBe(5_000_000n);
    expect(() => call('to_timestamp', 1e300)).toThrow('does not fit Timestamp');
    expect(() => call('to_timestamp', Number.NaN)).toThrow('does not fit Timestamp');
    expect(call('epoch_micros', at('1970-01-02'))).toBe(day);
    expect(call('timestamp_micros', day)).toBe(day);
    const made = call('make_timestamp', 2024n, 2n, 29n, 23n, 59n, 59.5);
    expect(timestampToText(made as bigint)).toBe('2024-02-29T23:59:59.500+00:00');
    expect(() => call('make_timestamp', 2023n, 2n, 29n, 0n, 0n, 0)).toThrow('no such date');
    expect(() => call('make_timestamp', 2023n, 1n, 1n, 24n, 0n, 0)).toThrow('no such date');
    expect(call('make_timestamp', 2023n, null, 1n, 0n, 0n, 0)).toBe(null);
  });

  it('results have the types of times', () => {
    expect(resultType('now')).toBe('(__timestamp_micros_since_unix_epoch__: I64)');
    expect(resultType('extract', undefined, timestampType)).toBe('F64');
    expect(resultType('date_trunc', scalarTypes.string, timeDurationType)).toBe(
      '(__time_duration_micros__: I64)',
    );
    expect(resultType('extract', scalarTypes.string, scalarTypes.i64)).toBe('none');
  });
});
