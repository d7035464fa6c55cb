import type { Delivery, RetryPolicy, SchedulePolicy } from '../schema/definition.ts';
import { catchUpKinds, deliveryKinds, type RawCron } from '../schema/raw-module.ts';
import type { CronTimes, DeliveryOptions, PolicyOptions } from './registration.ts';

/**
 * The policy that the options of `functionName` declare; `undefined` if they declare none. The host
 * checks the bounds of its numbers.
 */
export function declaredPolicy(
  functionName: string,
  { catchUp, retry }: PolicyOptions,
): SchedulePolicy | undefined {
  if (catchUp === undefined && retry === undefined) return undefined;
  const kind = oneOf(catchUpKinds, `\`catchUp\` of '${functionName}'`, catchUp ?? 'skip');
  return { catchUp: kind, retry: retry && retryPolicy(functionName, retry) };
}

/** `undefined` if a procedure declares no delivery. */
export function declaredDelivery(
  functionName: string,
  { delivery }: DeliveryOptions,
): Delivery | undefined {
  if (delivery === undefined) return undefined;
  return oneOf(deliveryKinds, `\`delivery\` of '${functionName}'`, delivery);
}

function oneOf<Kind extends string>(kinds: readonly Kind[], what: string, given: unknown): Kind {
  const found = kinds.find((kind) => kind === given);
  if (found !== undefined) return found;
  throw new TypeError(`${what} must be one of ${kinds.map((kind) => `'${kind}'`).join(', ')}`);
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
