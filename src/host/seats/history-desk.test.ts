import { expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { HistoryDesk } from './history-desk.ts';
import type { HistoryAnswer } from './history-task.ts';

const stopped: HistoryAnswer = { kind: 'stopped' };

function untilAborted(signal: AbortSignal): Promise<HistoryAnswer> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => setTimeout(() => resolve(stopped), 5));
  });
}

it('[history 3.10] an end stops what runs, and a start waits for it', async () => {
  const desk = new HistoryDesk();
  const ended: string[] = [];
  void desk.run(untilAborted).then(() => ended.push('task'));
  await desk.stop();
  ended.push('start');
  expect(ended).toEqual(['task', 'start']);
  // Another actor's tasks are not stopped by that.
  await expect(desk.run(async ({ aborted }) => (aborted ? stopped : answer))).resolves.toBe(answer);
});

it('[history 3.10] a start does not wait longer than a second', async () => {
  const desk = new HistoryDesk();
  let release: (answer: HistoryAnswer) => void = () => undefined;
  const task = desk.run(() => new Promise((resolve) => (release = resolve)));
  const before = performance.now();
  await desk.stop();
  expect(performance.now() - before).toBeGreaterThanOrEqual(limits.historyStopMillisMax - 1);
  release(stopped);
  await expect(task).resolves.toBe(stopped);
});

it('stops for who asked, and for nobody else', async () => {
  const desk = new HistoryDesk();
  const own = new AbortController();
  const one = desk.run(untilAborted, own.signal);
  let isOther = false;
  const other = desk.run(untilAborted).then(() => {
    isOther = true;
  });
  own.abort();
  await expect(one).resolves.toBe(stopped);
  expect(isOther).toBe(false);
  await desk.stop();
  await other;
});

const answer: HistoryAnswer = { kind: 'failed', message: 'full' };
