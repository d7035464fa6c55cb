import { expect, it } from 'vitest';
import { readWrittenPlace } from './written-place.ts';

const now = 1_800_000_000_000_000n;

it('[history 5.25] reads offsets, positions and times', () => {
  const read = (text: string) => readWrittenPlace(text, now);
  expect(read('1234')).toEqual({ kind: 'offset', offset: 1234, epoch: undefined });
  const position = { kind: 'offset', offset: 12, epoch: '9f3c00d1a2b4c5d6' };
  expect(read('9f3c00d1a2b4c5d6.12')).toEqual(position);
  expect(read('9F3C00D1A2B4C5D6.12.b942ae01')).toEqual(position);
  const time = { kind: 'time', micros: 1_795_341_600_000_000 };
  expect(read('2026-11-22T10:00:00Z')).toEqual(time);
  expect(read('2026-11-22T11:00:00+01:00')).toEqual(time);
  expect(read('now')).toEqual({ kind: 'time', micros: Number(now) });
  expect(read('now - 2h')).toEqual({ kind: 'time', micros: Number(now) - 7_200_000_000 });
});

it('[history 5.25] says what is wrong with a place', () => {
  expect(readWrittenPlace('2026-11-22T10:00:00', now)).toEqual({
    fault: '2026-11-22T10:00:00 has no time zone; append Z or an offset such as +01:00',
  });
  expect(readWrittenPlace('yesterday', now)).toEqual({
    fault:
      '`yesterday` is not a place in a history: ' +
      'write an offset, a position, -3 (commits back), a time with its zone, or now - 2h',
  });
  expect(readWrittenPlace('-3', now)).toEqual({
    fault:
      '-3 counts from the last commit of a running database; ' +
      'a restore needs an offset, a position or a time',
  });
});
