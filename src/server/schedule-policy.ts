import type { RetryPolicy, SchedulePolicy } from '../schema/definition.ts';
import { catchUpKinds, type RawCron } from '../schema/raw-module.ts';
import type { CronTimes, PolicyOptions } from './registration.ts';

/**
 * The policy that the options of `functionName` declare; `undefined` if they declare none. The host
 * checks the bounds of its numbers.
 */
export function declaredPolicy(
  functionName: string,
  { catchUp, retry }: PolicyOptions,
): SchedulePolicy | undefined {
  if (catchUp === undefined && retry === undefined) return undefined;
  const found = catchUpKinds.find((kind) => kind === (catchUp ?? 'skip'));
  if (found === undefined) {
    const kinds = catchUpKinds.map((kind) => `'${kind}'`).join(', ');
    throw new TypeError(`\`catchUp\` of '${functionName}' must be one of ${kinds}`);
  }
  return { catchUp: found, retry: retry && retryPolicy(functionName, retry) };
}

function retryPolicy(
  functionName: string,
  { attempts, backoff }: NonNullable<PolicyOptions['retry']>,
): RetryPolicy {
  if (typeof attempts !== 'number' || attempts >>> 0 !== attempts) {
    throw new TypeError(`\`retry.attempts\` of '${functionName}' must be a whole number`);
  }
  const backoffMicros = backoff?.micros;
  if (typeof backoffMicros !== 'bigint') {
    throw new TypeError(`\`retry.backoff\` of '${functionName}' must be a TimeDuration`);
  }
  return { attempts, backoffMicros };
}

export function declaredCron(
  functionName: string,
  { expression, timeZone }: CronTimes,
  policy: SchedulePolicy,
): RawCron {
  if (typeof expression !== 'string') {
    throw new TypeError(`the expression of the cron '${functionName}' must be a string`);
  }
  if (timeZone !== undefined && typeof timeZone !== 'string') {
    throw new TypeError(`\`timeZone\` of '${functionName}' must be a string`);
  }
  return { functionName, expression, timeZone, policy };
}
