import { Cron } from 'croner';
import type { CronFault, CronReader, CronSteps } from '../database/cron.ts';
import { type CronFields, cronFieldsOf } from './cron-fields.ts';

/**
 * Reads cron expressions with `croner` (ADR 0060). Fixed hours follow the local clock: a time that
 * does not exist on a day, because clocks go forward, is the first that does; one that exists twice
 * is the first of the two. Where every hour is meant, hours are those that pass.
 */
export const cronReader: CronReader = {
  read(expression, timeZone = 'UTC') {
    if (!isTimeZone(timeZone)) {
      const message = `\`${timeZone}\` is not the name of a time zone, such as Europe/Berlin`;
      return { message, character: undefined };
    }
    const fields = cronFieldsOf(expression);
    return 'message' in fields ? fields : stepsOf(expression, fields, timeZone);
  },
};

/** Offsets such as `+02:00` are not the same to every version of the platform. */
function isTimeZone(name: string): boolean {
  if (!/^[a-z]/i.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function stepsOf(expression: string, fields: CronFields, timezone: string): CronSteps | CronFault {
  let cron: Cron;
  try {
    const options = { mode: '6-part', fixedTimeRule: 'no-wildcard', paused: true } as const;
    cron = new Cron(fields.join(' '), { ...options, timezone });
  } catch (error) {
    return { message: String((error as Error).message), character: 1 };
  }
  const steps = new Steps(cron);
  if (steps.nextAfter(0n) !== undefined) return steps;
  return { message: `no date is ever \`${expression.trim()}\``, character: 1 };
}

const microsPerSecond = 1_000_000n;
/** The latest and the earliest time that a date can have. */
const secondsMax = 8_640_000_000_000n;
/** A time comes at least every eight years, the most between two 29ths of February. */
const searchSecondsMax = 2n ** 28n;

/** Times are whole seconds. */
class Steps implements CronSteps {
  readonly #cron: Cron;

  constructor(cron: Cron) {
    this.#cron = cron;
  }

  nextAfter(micros: bigint): bigint | undefined {
    const next = this.#next(floorSeconds(micros));
    return next === undefined ? undefined : next * microsPerSecond;
  }

  /**
   * Found by halving, from the times after others: so both directions agree on what the times are.
   */
  lastUntil(micros: bigint): bigint | undefined {
    const until = floorSeconds(micros);
    let span = 1n;
    while (!this.#hasTime(until - span, until)) {
      if (span >= searchSecondsMax) return undefined;
      span *= 2n;
    }
    // There is a time after `from`, and none after `empty`, up to `until`.
    let from = until - span;
    let empty = until;
    while (empty - from > 1n) {
      const middle = (from + empty) / 2n;
      if (this.#hasTime(middle, until)) from = middle;
      else empty = middle;
    }
    return empty * microsPerSecond;
  }

  #hasTime(after: bigint, until: bigint): boolean {
    const next = this.#next(after);
    return next !== undefined && next <= until;
  }

  #next(seconds: bigint): bigint | undefined {
    if (seconds < -secondsMax || seconds > secondsMax) return undefined;
    const next = this.#cron.nextRun(new Date(Number(seconds) * 1_000));
    return next === null ? undefined : BigInt(next.getTime()) / 1_000n;
  }
}

function floorSeconds(micros: bigint): bigint {
  const seconds = micros / microsPerSecond;
  return micros < 0n && seconds * microsPerSecond !== micros ? seconds - 1n : seconds;
}
