import { expect, it } from 'vitest';
import { timestampFromText } from '../../values/timestamp.ts';
import { momentFromText } from './time-text.ts';

const same = (texts: readonly string[], moment: string) => {
  for (const text of texts) expect(momentFromText(text), text).toBe(timestampFromText(moment));
};

it('[sql 5.3] reads moments without time of day, seconds or offset as UTC', () => {
  same(['2025-01-10', '2025-01-10 00:00', '2025-01-10T00:00:00'], '2025-01-10T00:00:00Z');
  same(['2025-01-10 07:30:01.25', '2025-01-10T07:30:01.25z'], '2025-01-10T07:30:01.25Z');
});

it('[sql 5.3] reads offsets with and without minutes and colon', () => {
  const texts = ['2025-01-10 02:00:00+02', '2025-01-10 02:00:00+0200', '2025-01-10T02:00 +02:00'];
  same(texts, '2025-01-10T00:00:00Z');
  same(['2025-01-09 20:30:00-0330'], '2025-01-10T00:00:00Z');
});

it('[sql 5.3] drops what is finer than a microsecond', () => {
  same(['2025-01-10 00:00:00.1234567891234'], '2025-01-10T00:00:00.123456Z');
});

it('[sql 5.3] takes nothing else for a moment', () => {
  const wrong = ['', '2025', '2025-13-01', '2025-02-30', '10:00', '2025-01-10 25:00', 'today'];
  for (const text of [...wrong, '2025-01-10 ', '2025-01-10Z', '2025-01-10 10:00 CET']) {
    expect(momentFromText(text), text).toBeUndefined();
  }
});
