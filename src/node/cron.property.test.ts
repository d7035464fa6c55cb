import fc from 'fast-check';
import { expect, it } from 'vitest';
import { someRuns } from '../../test/support/share.ts';
import { cronReader } from './cron.ts';

/**
 * Times of an expression, minute by minute over the days around a change of clocks, as the machine
 * says what the clocks show.
 */

const zones = [
  'Europe/Berlin',
  'America/New_York',
  'America/Havana',
  'America/Santiago',
  'Africa/Casablanca',
  'Antarctica/Troll',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
];

/** What a clock shows at a minute: `day` counts days, `time` minutes of the day. */
interface Shown {
  /** Minutes since the Unix epoch. */
  readonly at: number;
  readonly day: number;
  readonly time: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function shown(zone: string, at: number): Shown {
  let format = formats.get(zone);
  if (format === undefined) {
    const digits = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
    const time = { hour: 'numeric', minute: 'numeric', hourCycle: 'h23' } as const;
    format = new Intl.DateTimeFormat('en', { timeZone: zone, ...digits, ...time });
    formats.set(zone, format);
  }
  const parts = format.formatToParts(at * 60_000);
  const part = (type: string) => Number(parts.find((each) => each.type === type)?.value);
  const midnight = Date.UTC(part('year'), part('month') - 1, part('day'));
  return { at, day: midnight / 86_400_000, time: part('hour') * 60 + part('minute') };
}

const offset = (zone: string, at: number) => {
  const { day, time } = shown(zone, at);
  return day * 1_440 + time - at;
};

/** Minutes at which the clocks of a zone change in a year. */
function changes(zone: string, year: number): number[] {
  const first = Date.UTC(year) / 60_000;
  const days = Array.from({ length: 366 }, (_, day) => first + day * 1_440);
  return days.flatMap((start) => {
    if (offset(zone, start) === offset(zone, start + 1_440)) return [];
    let [before, after] = [start, start + 1_440];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (offset(zone, middle) === offset(zone, start)) before = middle;
      else after = middle;
    }
    return [after];
  });
}

/** All minutes of two days before and after a moment. */
const windowsKnown = new Map<string, readonly Shown[]>();
function minutesAround(zone: string, change: number): readonly Shown[] {
  const key = `${zone} ${change}`;
  const known = windowsKnown.get(key);
  if (known !== undefined) return known;
  const minutes = Array.from({ length: 5_760 }, (_, at) => shown(zone, change - 2_880 + at));
  windowsKnown.set(key, minutes);
  return minutes;
}

interface Drawn {
  readonly text: string;
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** Whether a day, counted from the epoch, is one of the expression. */
  readonly hasDay: (day: number) => boolean;
}

const range = (from: number, to: number, by = 1) =>
  Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, at) => from + at * by);

const minuteField = fc.constantFrom(
  ['*', range(0, 59)] as const,
  ['*/15', [0, 15, 30, 45]] as const,
  ['0', [0]] as const,
  ['30', [30]] as const,
  ['50,10', [10, 50]] as const,
  ['40-59/5', [40, 45, 50, 55]] as const,
);
const hourField = fc.constantFrom(
  ['*', range(0, 23)] as const,
  ['0-23', range(0, 23)] as const,
  ['*/2', range(0, 23, 2)] as const,
  ['0', [0]] as const,
  ['2', [2]] as const,
  ['1-3', [1, 2, 3]] as const,
  ['23,2', [2, 23]] as const,
);
const weekday = (day: number) => (((day + 4) % 7) + 7) % 7;
const dayField = fc.constantFrom(
  ['* * *', () => true] as const,
  ['* * SUN', (day: number) => weekday(day) === 0] as const,
  ['* * 6-7', (day: number) => [6, 0].includes(weekday(day))] as const,
  ['*/2 * *', (day: number) => new Date(day * 86_400_000).getUTCDate() % 2 === 1] as const,
);

const drawn: fc.Arbitrary<Drawn> = fc
  .tuple(minuteField, hourField, dayField)
  .map(([minute, hour, day]) => ({
    text: `${minute[0]} ${hour[0]} ${day[0]}`,
    minutes: minute[1],
    hours: hour[1],
    hasDay: day[1],
  }));

/** The times of an expression within some minutes, in minutes since the epoch. */
function timesWithin(minutes: readonly Shown[], { minutes: of, hours, hasDay }: Drawn): number[] {
  const times = new Set<number>();
  const wanted = hours.flatMap((hour) => of.map((minute) => hour * 60 + minute));
  if (hours.length === 24) {
    return minutes
      .filter(({ day, time }) => hasDay(day) && wanted.includes(time))
      .map(({ at }) => at);
  }
  for (const day of new Set(minutes.map((minute) => minute.day))) {
    if (!hasDay(day)) continue;
    for (const time of wanted) {
      const exact = minutes.find((minute) => minute.day === day && minute.time === time);
      const later = minutes.find((minute) => minute.day * 1_440 + minute.time > day * 1_440 + time);
      const found = exact ?? later;
      if (found !== undefined) times.add(found.at);
    }
  }
  return [...times].sort((a, b) => a - b);
}

const micros = (minute: number) => BigInt(minute) * 60_000_000n;

it('[living 1.11] the times of an expression are those that clocks show, in every zone', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: 2005, max: 2026 }),
      fc.nat({ max: 9 }),
      drawn,
      fc.integer({ min: 1_440, max: 4_319 }),
      (zone, year, which, expression, moment) => {
        const found = changes(zone, zone === 'Pacific/Apia' && which > 6 ? 2011 : year);
        const change = found[which % found.length] ?? Date.UTC(year, which) / 60_000;
        const minutes = minutesAround(zone, change);
        const [first, last] = [change - 1_440, change + 1_440];
        // The first and the last day are there for what reaches into the two between.
        const times = timesWithin(minutes, expression);
        const expected = times.filter((at) => at > first && at <= last);
        const steps = cronReader.read(expression.text, zone);
        if ('message' in steps) throw new Error(steps.message);
        const stepped: number[] = [];
        for (let next = steps.nextAfter(micros(first)); next !== undefined; ) {
          const at = Number(next / 60_000_000n);
          if (at > last) break;
          stepped.push(at);
          next = steps.nextAfter(next);
        }
        expect(stepped).toEqual(expected);
        const until = change - 2_880 + moment;
        const before = times.filter((at) => at <= until && at > change - 1_440).at(-1);
        if (before !== undefined) expect(steps.lastUntil(micros(until))).toBe(micros(before));
      },
    ),
    { numRuns: 100 },
  );
});

it('[living 1.11] any text is read or refused, with a character that is there', () => {
  const item = fc.constantFrom(
    ...'* 0 7 31 59 60 L W LW 5W MON#2 FRIL SUN JAN MON-FRI 1-5 1-5/2 */7 ? # - / , @daily é'.split(
      ' ',
    ),
  );
  const field = fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','));
  const text = fc.oneof(
    fc.array(field, { minLength: 5, maxLength: 6 }).map((fields) => fields.join(' ')),
    fc.string({ maxLength: 40 }),
  );
  fc.assert(
    fc.property(text, (expression) => {
      const read = cronReader.read(expression, undefined);
      if (!('message' in read)) return;
      expect(read.message).not.toContain('CronPattern');
      expect(read.character).toBeGreaterThanOrEqual(1);
      expect(read.character).toBeLessThanOrEqual(expression.length + 1);
    }),
    { numRuns: someRuns(2_000) },
  );
});
