import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limits } from '../../limits.ts';
import { MessageBudget } from '../messages/message-budget.ts';
import { Warnings } from './warnings.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('sends so many warnings a minute, each within its bound, and counts the rest', () => {
  const { workerWarningsPerMinute, reportCharactersMax } = limits;
  const sent: string[] = [];
  const warnings = new Warnings((message) => sent.push(message));
  for (let at = 0; at < 1_000; at += 1) warnings.add('w'.repeat(reportCharactersMax + 1));
  expect(sent).toHaveLength(workerWarningsPerMinute - 1);
  expect(sent[0]).toHaveLength(reportCharactersMax);
  vi.advanceTimersByTime(60_000);
  const left = 1_000 - (workerWarningsPerMinute - 1);
  expect(sent.at(-1)).toBe(`${left} more warnings were omitted within a minute.`);
  warnings.add('again');
  expect(sent.at(-1)).toBe('again');
  vi.advanceTimersByTime(60_000);
  expect(sent).toHaveLength(workerWarningsPerMinute + 1);
});

it('never asks for more than the gateway takes, also after that stood still', () => {
  const budget = new MessageBudget();
  const warnings = new Warnings((message) => budget.take({ kind: 'warn', message }));
  for (let minute = 0; minute < 10; minute += 1) {
    for (let at = 0; at < 100; at += 1) warnings.add('w');
    vi.advanceTimersByTime(60_000);
  }
  // All figures of ten minutes come at once.
  vi.advanceTimersByTime(600_000);
  const memory = {} as never;
  for (let at = 0; at < 600 * limits.workerReportsPerSecond; at += 1) {
    budget.take({ kind: 'memory', memory });
  }
});
