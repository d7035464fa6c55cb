import { expect, it } from 'vitest';
import { safePaintedText, safeText } from './safe-text.ts';

it('[cli 1] text from elsewhere does nothing to a terminal', () => {
  expect(safeText('\u001b[2J\u001b]0;title\u0007')).toBe('\\u001b[2J\\u001b]0;title\\u0007');
  expect(safeText('\u009b31mred\u007f\0\b')).toBe('\\u009b31mred\\u007f\\u0000\\u0008');
  expect(safeText('over\rwritten')).toBe('over\\u000dwritten');
  expect(safeText('a\tb\nc\r\nd é 名 😀')).toBe('a\tb\nc\nd é 名 😀');
  expect(safeText('a\u202eb\u2066c\u200fd')).toBe('a\\u202eb\\u2066c\\u200fd');
  const value = { a: '\u009b\u007f\u001b\r\n' };
  expect(JSON.parse(safeText(JSON.stringify(value)))).toEqual(value);
});

it('[cli 1] of a painted text, colours stay, and nothing that hides or moves', () => {
  const plan = '\u001b[34mPlan\u001b[0m\n\u001b[37;41mBREAKING\u001b[0m';
  expect(safePaintedText(plan)).toBe(plan);
  expect(safePaintedText('\u001b[8mhidden \u001b[31mred\u001b[2J\u001b[30;40m')).toBe(
    '\\u001b[8mhidden \u001b[31mred\\u001b[2J\\u001b[30;40m',
  );
});
