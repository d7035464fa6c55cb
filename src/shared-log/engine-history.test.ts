import { expect, it } from 'vitest';
import { historyText, judgeHistory, parseHistory } from './engine-history.ts';

const known = 'postgres:7301204456621838372:3';

it('[replication 3.4] the past of an engine is a text that names it', () => {
  const history = { kind: 'postgres', identifier: '7301204456621838372', timeline: 3 };
  expect(historyText(history)).toBe(known);
  expect(parseHistory(known)).toEqual(history);
  for (const text of ['', 'postgres', 'postgres:1', ':1:2', 'postgres:1:x', 'p:1:2:3']) {
    expect(parseHistory(text)).toBeUndefined();
  }
  expect(parseHistory(`a:${'1'.repeat(300)}:1`)).toBeUndefined();
});

it('[replication 3.4] another engine, and an older timeline, are refused', () => {
  expect(judgeHistory(known, known)).toEqual({ kind: 'same' });
  expect(judgeHistory(known, 'postgres:7301204456621838372:4')).toEqual({ kind: 'newer' });
  expect(judgeHistory(known, 'postgres:7301204456621838372:2')).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('already seen timeline 3'),
  });
  expect(judgeHistory(known, 'postgres:1:3')).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('This is another engine'),
  });
  expect(judgeHistory(known, 'nonsense')).toMatchObject({ kind: 'refused' });
});
