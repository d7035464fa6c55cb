import { describe, expect, it } from 'vitest';
import { epoch } from '../log/epoch.ts';
import { positionText } from '../log/position-text.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { readPosition } from './position.ts';

const whole = '9f3c00d1a2b4c5d6.1234.b942ae01';

describe('a position as text', () => {
  it('[history 1.4] reads and writes a whole position', () => {
    const read = readPosition(whole);
    const position = {
      epoch: epoch(0x9f3c_00d1_a2b4_c5d6n),
      offset: commitOffset(1234),
      chainLow: 0xb942_ae01 | 0,
    };
    expect(read).toEqual({ kind: 'position', position });
    expect(positionText(position)).toBe(whole);
  });

  it('[history 1.4] may end before the chain hash', () => {
    const text = '00000000a2b4c5d6.0';
    const position = { epoch: epoch(0xa2b4_c5d6n), offset: commitOffset(0), chainLow: undefined };
    expect(readPosition(text)).toEqual({ kind: 'position', position });
    expect(positionText(position)).toBe(text);
    expect(positionText({ ...position, chainLow: 1 })).toBe(`${text}.00000001`);
  });

  it.each<[string, unknown]>([
    ['0', { kind: 'offset', offset: 0 }],
    [' 1234 ', { kind: 'offset', offset: 1234 }],
    ['-3', { kind: 'back', commits: 3 }],
    ['-0', { kind: 'back', commits: 0 }],
    ['2026-11-22T10:00:00Z', { kind: 'time', micros: 1_795_341_600_000_000n }],
    ['2026-11-22T11:00:00.5+01:00', { kind: 'time', micros: 1_795_341_600_500_000n }],
    ['now', { kind: 'ago', micros: 0n }],
    ['now - 30s', { kind: 'ago', micros: 30_000_000n }],
    ['now -15m', { kind: 'ago', micros: 900_000_000n }],
    ['now-2h', { kind: 'ago', micros: 7_200_000_000n }],
    ['now - 7d', { kind: 'ago', micros: 604_800_000_000n }],
  ])('[history 1.4] reads `%s`', (text, read) => {
    expect(readPosition(text)).toEqual(read);
  });

  it('[history 1.4] refuses a time without its zone, and says what to append', () => {
    const fault = '2026-11-22T10:00:00 has no time zone; append Z or an offset such as +01:00';
    expect(readPosition('2026-11-22T10:00:00')).toEqual({ fault });
  });

  it.each([
    '',
    'x',
    '--3',
    '1.5',
    '99999999999999999',
    '9007199254740993',
    '9f3c00d1a2b4c5d6.',
    '9f3c00d1a2b4c5d6.1.b942ae0',
    '9f3c00d1a2b4c5d.1',
    '2026-13-22T10:00:00Z',
    'now - 3y',
    'now + 3s',
    'now - ',
  ])('[history 1.4] `%s` is nothing of this', (text) => {
    expect(readPosition(text)).toMatchObject({ fault: expect.stringContaining('write an offset') });
  });
});
