import { setTimeout as wait } from 'node:timers/promises';
import {
  anything,
  nullable,
  number,
  object,
  type Shape,
  type Shaped,
  string,
} from '../values/json-shape.ts';
import type { Api } from './api.ts';
import { CliError, type Io } from './io.ts';

/** The answer of a request that starts a job. */
export const startedJob = object({ job: string });

const jobShape = object({
  state: string,
  phase: string,
  done: number,
  total: number,
  result: nullable(anything),
  error: nullable(string),
});

interface JobWait<Result> {
  readonly result: Shape<Result>;
  /** What the job does, for the error if it does not say itself: `The snapshot`. */
  readonly what: string;
  /** What is counted: `rows`. */
  readonly unit: string;
}

/** Waits for a job and returns its result; shows how far it is. Throws when it failed. */
export async function jobResult<Result>(
  api: Api,
  id: string,
  io: Io,
  { result: resultShape, what, unit }: JobWait<Result>,
): Promise<Result> {
  for (let pause = firstMillis; ; pause = Math.min(pause * 2, pauseMillisMax)) {
    const job = await api.json('GET', `/v1/jobs/${id}`, jobShape);
    if (job.state === 'running') {
      io.progress(progressText(job, unit));
      await wait(pause);
      continue;
    }
    io.progress('');
    const { state, result, error } = job;
    if (result === null) throw new CliError(error ?? `${what} was ${state}`);
    return resultShape(result, 'result');
  }
}

const firstMillis = 20;
const pauseMillisMax = 250;

function progressText({ phase, done, total }: Shaped<typeof jobShape>, unit: string): string {
  if (total === 0) return `${phase} …`;
  const part = Math.min(1, done / total);
  const filled = Math.round(part * barWidth);
  const bar = '#'.repeat(filled) + '.'.repeat(barWidth - filled);
  return `${phase} [${bar}] ${Math.floor(part * 100)} % of ${total} ${unit}`;
}

const barWidth = 30;
