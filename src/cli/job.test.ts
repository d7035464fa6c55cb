import { expect, it, onTestFinished, vi } from 'vitest';
import { number, object } from '../values/json-shape.ts';
import type { Api } from './api.ts';
import type { Io } from './io.ts';
import { jobResult } from './job.ts';

/** A service that answers so, one after another. */
function answering(...answers: readonly (readonly [status: number, body: string])[]): Api {
  const left = [...answers];
  const send = async () => {
    const [status, body] = left.shift() ?? [500, 'asked once more'];
    return { status, ok: status === 200, text: async () => body };
  };
  const failureText = (status: number, text: string) => `${status} ${text}`;
  return { send, failureText } as unknown as Api;
}

const waiting = { result: object({ bytes: number }), what: 'The restore', unit: 'bytes' };
const quiet = { out: () => undefined, progress: () => undefined } as unknown as Io;
const doneText = JSON.stringify({
  ...{ state: 'done', phase: 'replay', done: 1, total: 1 },
  ...{ result: { bytes: 5 }, error: null },
});

it('[cli 2.17] says of a job that nobody knows any more that it may have happened', async () => {
  const lost = jobResult(answering([404, 'No such job']), 'job', quiet, waiting);
  await expect(lost).rejects.toThrow(/^The restore was lost: .*Whether it has happened is unknown/);
  const refused = jobResult(answering([403, 'no']), 'job', quiet, waiting);
  await expect(refused).rejects.toThrow('403 no');
});

it('[cli 2.17] asks again for a job while another host takes over', async () => {
  const api = answering([503, 'lost'], [503, 'no leader'], [200, doneText]);
  expect(await jobResult(api, 'job', quiet, waiting)).toEqual({ bytes: 5 });
});

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
    answering(...answers.map((one) => [200, JSON.stringify(one)] as const)),
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
