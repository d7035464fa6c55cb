import { expect, it } from 'vitest';
import type { CronFault, CronSteps } from '../database/cron.ts';
import { cronReader } from './cron.ts';

function read(expression: string, timeZone?: string): CronSteps {
  const steps = cronReader.read(expression, timeZone);
  if ('message' in steps) throw new Error(steps.message);
  return steps;
}

function faultOf(expression: string, timeZone?: string): CronFault | undefined {
  const read = cronReader.read(expression, timeZone);
  return 'message' in read ? read : undefined;
}

const micros = (date: string) => BigInt(Date.parse(date)) * 1_000n;

/** The first times after a date, as minutes in UTC. */
function times(expression: string, from: string, count: number, timeZone?: string): string[] {
  const steps = read(expression, timeZone);
  let at: bigint | undefined = micros(from);
  return Array.from({ length: count }, () => {
    at = at === undefined ? undefined : steps.nextAfter(at);
    return at === undefined ? 'never' : new Date(Number(at / 1_000n)).toISOString().slice(0, 16);
  });
}

it('[living 1.11] an expression has five fields, six with seconds, or a name', () => {
  const from = '2026-11-23T10:00:00Z';
  expect(times('0 3 * * *', from, 2)).toEqual(['2026-11-24T03:00', '2026-11-25T03:00']);
  expect(times('  0  3 * * *  ', from, 1)).toEqual(['2026-11-24T03:00']);
  expect(times('@hourly', from, 2)).toEqual(['2026-11-23T11:00', '2026-11-23T12:00']);
  expect(times('@Daily', from, 1)).toEqual(['2026-11-24T00:00']);
  expect(times('@weekly', from, 1)).toEqual(['2026-11-29T00:00']);
  expect(times('@monthly', from, 1)).toEqual(['2026-12-01T00:00']);
  expect(times('@yearly', from, 1)).toEqual(['2027-01-01T00:00']);
  expect(read('5-15/10 * * * * *').nextAfter(micros(from))).toBe(micros('2026-11-23T10:00:05Z'));
});

it('[living 1.11] days are those of the month, of the week, or either where both are given', () => {
  const from = '2026-11-23T10:00:00Z';
  expect(times('0 0 * FEB,apr *', from, 1)).toEqual(['2027-02-01T00:00']);
  expect(times('0 0 * * MON-wed', from, 2)).toEqual(['2026-11-24T00:00', '2026-11-25T00:00']);
  expect(times('0 0 * * 7', from, 1)).toEqual(['2026-11-29T00:00']);
  expect(times('0 0 28 * 5', from, 3)).toEqual([
    '2026-11-27T00:00',
    '2026-11-28T00:00',
    '2026-12-04T00:00',
  ]);
  expect(times('0 0 L * *', from, 2)).toEqual(['2026-11-30T00:00', '2026-12-31T00:00']);
  expect(times('0 0 LW 1 *', from, 1)).toEqual(['2027-01-29T00:00']);
  expect(times('0 0 * * MON#2', from, 1)).toEqual(['2026-12-14T00:00']);
  expect(times('0 0 * * 5L', from, 1)).toEqual(['2026-11-27T00:00']);
  expect(times('0 0 29 2 *', '2096-03-01T00:00:00Z', 1)).toEqual(['2104-02-29T00:00']);
});

const berlin = 'Europe/Berlin';

it('[living 1.11] where clocks go forward, a missing time is the next that exists', () => {
  const from = '2026-03-28T01:00:00Z';
  expect(times('30 2 * * *', from, 3, berlin)).toEqual([
    '2026-03-28T01:30',
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ]);
  expect(times('*/20 2 * * *', from, 4, berlin)).toEqual([
    '2026-03-28T01:20',
    '2026-03-28T01:40',
    '2026-03-29T01:00',
    '2026-03-30T00:00',
  ]);
  expect(times('30 2,3 * * *', '2026-03-29T00:00:00Z', 3, berlin)).toEqual([
    '2026-03-29T01:00',
    '2026-03-29T01:30',
    '2026-03-30T00:30',
  ]);
});

it('[living 1.11] where clocks go back, a time that exists twice is the first', () => {
  const from = '2026-10-24T22:00:00Z';
  expect(times('*/30 2 * * *', from, 3, berlin)).toEqual([
    '2026-10-25T00:00',
    '2026-10-25T00:30',
    '2026-10-26T01:00',
  ]);
});

it('[living 1.11] every hour is each hour that passes', () => {
  for (const hours of ['*', '0-23', '*/1']) {
    expect(times(`30 ${hours} * * *`, '2026-10-25T00:00:00Z', 3, berlin)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:30',
      '2026-10-25T02:30',
    ]);
  }
});

it('[living 1.11] the last time until a moment is the one that is next before it', () => {
  const steps = read('0 3 * * *', berlin);
  const last = micros('2026-11-23T02:00:00Z');
  expect(steps.lastUntil(last)).toBe(last);
  expect(steps.lastUntil(last + 86_399_999_999n)).toBe(last);
  expect(steps.lastUntil(last - 1n)).toBe(last - 86_400_000_000n);
  expect(read('0 0 29 2 *').lastUntil(micros('2104-02-28T00:00:00Z'))).toBe(
    micros('2096-02-29T00:00:00Z'),
  );
  expect(read('* * * * * *').lastUntil(-1n)).toBe(-1_000_000n);
});

it('[living 1.11] times beyond those of dates have no next one', () => {
  for (const far of [2n ** 63n - 1n, -(2n ** 63n)]) {
    expect(read('@hourly').nextAfter(far)).toBeUndefined();
    expect(read('@hourly').lastUntil(far)).toBeUndefined();
  }
});

const count = 'an expression has 5 fields, or 6 with seconds first';
const names = '@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly';

it.each([
  ['0 25 * * *', 3, 'hour 25 is not from 0 to 23'],
  ['0 3-99 * * *', 5, 'hour 99 is not from 0 to 23'],
  ['0 0 0 * *', 5, 'day of the month 0 is not from 1 to 31'],
  ['1,60 * * * *', 3, 'minute 60 is not from 0 to 59'],
  ['99999999999 * * * *', 1, '`99999999999` is not valid in the field `minute`'],
  ['60 * * * * *', 1, 'second 60 is not from 0 to 59'],
  ['*/90 * * * *', 3, 'step 90 is not from 1 to 59'],
  ['*/0 * * * *', 3, 'step 0 is not from 1 to 59'],
  ['5/5 * * * *', 1, 'a step needs a range, such as 5-59/5'],
  ['0 3-1 * * *', 3, 'hour 3 is after 1'],
  ['0 0 * * FRI-MON', 9, 'day of the week FRI is after MON'],
  ['0 1,,2 * * *', 5, 'a number is missing in the field `hour`'],
  ['0 0 ? * *', 5, '`?` is not valid in the field `day of the month`'],
  ['0 0 * FOO *', 7, '`FOO` is not valid in the field `month`'],
  ['0 mon * * *', 3, '`mon` is not valid in the field `hour`'],
  ['0 0 * * MON#6', 9, '`MON#6` is not valid in the field `day of the week`'],
  ['0 0 * * +MON', 9, '`+MON` is not valid in the field `day of the week`'],
  ['0 0 30 2 *', 1, 'no date is ever `0 0 30 2 *`'],
  ['* * * *', 8, `${count}, but this one has 4`],
  ['', 1, `${count}, but this one has 0`],
  ['2026-01-01T00:00:00', 20, `${count}, but this one has 1`],
  ['1 2 3 4 5 6 7', 13, `${count}, and nothing after them`],
  ['@daily 5', 8, `${count}, and nothing after them`],
  ['@reboot', 1, `\`@reboot\` is none of ${names}`],
  ['@toString', 1, `\`@toString\` is none of ${names}`],
])('[living 1.11] `%s` is refused at character %d', (expression, character, message) => {
  expect(faultOf(expression)).toEqual({ message, character });
});

it.each(['Europe/Berlim', '+02:00', '', 'Z'.repeat(5_000)])(
  '[living 1.11] the time zone %# is refused',
  (timeZone) => {
    expect(faultOf('@daily', timeZone)).toEqual({
      message: `\`${timeZone}\` is not the name of a time zone, such as Europe/Berlin`,
      character: undefined,
    });
  },
);
