import { limits } from '../limits.ts';
import type { SchedulePolicy } from './definition.ts';
import type { Problems } from './problems.ts';

/** Checks the numbers of a policy. `functionName` is the source name of what it is about. */
export function checkPolicy(
  problems: Problems,
  functionName: string,
  { retry }: SchedulePolicy,
): void {
  if (retry === undefined) return;
  const { scheduleAttemptsMax, scheduleRetryMillisMax } = limits;
  const { attempts, backoffMicros } = retry;
  if (attempts < 1 || attempts > scheduleAttemptsMax) {
    const text = `must be from 1 to ${scheduleAttemptsMax}, but is ${attempts}`;
    problems.report(`retry.attempts of ${functionName} ${text}`);
  }
  const max = scheduleRetryMillisMax;
  if (backoffMicros < 1n || backoffMicros > BigInt(max) * 1_000n) {
    const text = `must be from 1 microsecond to ${max / 1_000} s, but is ${backoffMicros} µs`;
    problems.report(`retry.backoff of ${functionName} ${text}`);
  }
}
