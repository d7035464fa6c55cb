import type { SumValue, Value } from '../../values/value.ts';
import type { ListedSchedule } from './schedule-ask.ts';

/** The rows of `st_schedule`, with its columns. */
export function scheduleRows(schedules: readonly ListedSchedule[]): readonly (readonly Value[])[] {
  return schedules.map((one) => [
    one.name,
    optional(one.tableName),
    one.functionName,
    one.tableName === undefined ? 'cron' : 'table',
    one.target,
    optional(one.expression),
    optional(one.timeZone),
    one.catchUp,
    one.state,
    optional(one.rowKey),
    BigInt(one.armedRows),
    micros(one.nextDueMicros),
    micros(one.lastDueMicros),
    micros(one.lastRunMicros),
    optional(one.lastOutcome),
    BigInt(one.runs),
    BigInt(one.failures),
    micros(one.latenessP50Micros),
    micros(one.latenessP99Micros),
    optional(one.lastError),
  ]);
}

/** A timestamp or a duration. */
function micros(value: bigint | undefined): SumValue {
  return optional(value === undefined ? undefined : [value]);
}

function optional(value: Value | undefined): SumValue {
  return value === undefined ? { tag: 1, value: [] } : { tag: 0, value };
}
