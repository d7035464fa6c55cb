import { expect, it, onTestFinished, vi } from 'vitest';
import { number, object } from '../values/json-shape.ts';
import type { Api } from './api.ts';
import type { Io } from './io.ts';
import { jobResult } from './job.ts';

it('says what is counted in each phase of a job', async () => {
  const running = { state: 'running', result: null, error: null };
  const answers = [
    { ...running, phase: 'snapshots', done: 2, total: 3 },
    { ...running, phase: 'shipping', done: 0, total: 0, state: 'done', result: { bytes: 5 } },
  ];
  const shown: string[] = [];
  let millis = 0;
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(performance, 'now').mockImplementation(() => (millis += 2_000));
  const io = { out: (line: string) => shown.push(line), progress: () => undefined };
  const result = await jobResult(
    { json: async () => answers.shift() } as unknown as Api,
    'job',
    io as unknown as Io,
    {
      result: object({ bytes: number }),
      what: 'The backup',
      unit: (phase) => (phase === 'snapshots' ? 'databases' : 'bytes'),
      isJson: true,
    },
  );
  expect(result).toEqual({ bytes: 5 });
  expect(shown.map((line) => JSON.parse(line))).toEqual([
    { phase: 'snapshots', done: 2, total: 3, unit: 'databases' },
  ]);
});
