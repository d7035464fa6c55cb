import { setTimeout as wait } from 'node:timers/promises';
import { anything, nullable, number, object, type Shape, string } from '../values/json-shape.ts';
import { type Api, fitting, readAnswer } from './api.ts';
import { CliError, type Io } from './io.ts';
import { WorkProgress } from './work-progress.ts';

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
  /** What is counted, `rows`, or what is in a phase. */
  readonly unit: string | ((phase: string) => string);
  /** Whether it is shown as JSON how far the job is. */
  readonly isJson?: boolean;
}

/** Waits for a job and returns its result; shows how far it is. Throws when it failed. */
export async function jobResult<Result>(
  api: Api,
  id: string,
  io: Io,
  { result: resultShape, what, unit, isJson = false }: JobWait<Result>,
): Promise<Result> {
  const progress = new WorkProgress(io, isJson);
  let busyTimes = 0;
  for (let pause = firstMillis; ; pause = Math.min(pause * 2, pauseMillisMax)) {
    const answer = await api.send('GET', `/v1/jobs/${id}`);
    const text = await answer.text();
    // Asking changes nothing: it can be done again while a host of a cluster is being replaced.
    if (answer.status === 503 && busyTimes < busyTimesMax) {
      busyTimes += 1;
      await wait(pauseMillisMax);
      continue;
    }
    if (answer.status === 404) throw new CliError(`${what} ${lostText}`);
    if (!answer.ok) throw new CliError(api.failureText(answer.status, text));
    const job = readAnswer(text, jobShape);
    if (job.state === 'running') {
      const { phase, done, total } = job;
      const counted = typeof unit === 'string' ? unit : unit(phase);
      progress.show({ phase, done, total, unit: counted });
      await wait(pause);
      continue;
    }
    progress.end();
    const { state, result, error } = job;
    if (result === null) throw new CliError(error ?? `${what} was ${state}`);
    return fitting(() => resultShape(result, 'result'));
  }
}

const firstMillis = 20;
const pauseMillisMax = 250;
/** Ten seconds: longer than a cluster needs to have another host lead. */
const busyTimesMax = 40;

const lostText =
  'was lost: the service that did it was restarted, or its host has ended, and nobody knows the ' +
  'job any more. Whether it has happened is unknown: look at the database before you order it ' +
  'again.';
