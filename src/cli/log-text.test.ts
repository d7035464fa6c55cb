import { describe, expect, it } from 'vitest';
import { isShown, logText, parseRecord } from './log-text.ts';

const ts = 1739788245123456;

describe('a log line as text', () => {
  it.each([
    [
      {
        level: 'Info',
        ts,
        function: 'add',
        filename: 'src/index.ts',
        line_number: 12,
        message: 'x',
      },
      '2025-02-17T10:30:45.123456Z  INFO: add src/index.ts:12: x',
    ],
    [{ level: 'Error', ts: 1739788245000000, message: 'x' }, '2025-02-17T10:30:45Z ERROR: x'],
    [{ level: 'Warn', ts: 0, message: 'x' }, '1970-01-01T00:00:00Z  WARN: x'],
    [{ level: 'Debug', ts: -1, message: 'x' }, '1969-12-31T23:59:59.999999Z DEBUG: x'],
    [{ level: 'Trace', message: 'no time' }, 'TRACE: no time'],
    [{ level: 'Info', filename: 'a.ts', message: 'x' }, ' INFO: a.ts: x'],
    [{ level: 'Info', function: 'f', message: 'x' }, ' INFO: f: x'],
    [
      {
        level: 'Info',
        function: '__spacetimedb__',
        filename: '__spacetimedb__',
        line_number: 3,
        target: '__spacetimedb__',
        message: 'from the host',
      },
      ' INFO: from the host',
    ],
    [
      { level: 'Panic', message: 'x', trace: [{ module_name: 'm', func_name: 'f' }, {}] },
      'PANIC: x\n    in m :: f\n    in ? :: ?',
    ],
  ])('[cli 2.7] of %j', (record, text) => {
    expect(logText(record, false)).toBe(text);
  });

  it('[cli 2.7] has the level in colours on a terminal', () => {
    expect(logText({ level: 'Error', message: 'x' }, true)).toBe('\u001b[31mERROR\u001b[0m: x');
    expect(logText({ level: 'Info', message: 'x' }, true)).toBe('\u001b[34m INFO\u001b[0m: x');
  });

  it('of something that is no record is the line itself', () => {
    expect(logText(parseRecord('words'), false)).toBe(' INFO: words');
    expect(logText(parseRecord('17'), false)).toBe(' INFO: 17');
    expect(logText(parseRecord('null'), false)).toBe(' INFO: null');
  });
});

describe('levels', () => {
  it('[cli 2.7] are a lower bound, or the only one shown', () => {
    const levels = ['Trace', 'Debug', 'Info', 'Warn', 'Error', 'Panic'];
    const shown = (isExact: boolean) =>
      levels.filter((level) => isShown({ level, message: '' }, 'warn', isExact));
    expect(shown(false)).toEqual(['Warn', 'Error', 'Panic']);
    expect(shown(true)).toEqual(['Warn']);
  });
});
