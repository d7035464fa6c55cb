import { expect, it } from 'vitest';
import type { CronDefinition } from '../schema/definition.ts';
import type { CronReader } from './cron.ts';
import { cronFaults, cronFaultsIn } from './cron-faults.ts';

const cron: CronDefinition = {
  name: 'each_day',
  sourceName: 'eachDay',
  expression: '0 3 * * *',
  timeZone: 'Europe/Berlin',
  policy: { catchUp: 'skip', retry: undefined },
};
const bad = { ...cron, sourceName: 'bad', expression: 'x\ny' };

/** Reads what begins with a digit, in time zones with a slash. */
const reader: CronReader = {
  read(expression, timeZone = 'UTC') {
    if (!timeZone.includes('/')) return { message: 'no such zone', character: undefined };
    if (!/^\d/.test(expression)) return { message: 'it begins with x', character: 1 };
    return { nextAfter: () => undefined, lastUntil: () => undefined };
  },
};

it('[living 1.11] faults of crons name the export, the character and the expression', () => {
  expect(cronFaults([cron], reader)).toEqual([]);
  expect(
    cronFaults([cron, { ...bad, expression: 'x' }, { ...cron, timeZone: 'Mars' }], reader),
  ).toEqual(['cron `bad`: it begins with x (character 1 of `x`)', 'cron `eachDay`: no such zone']);
  expect(cronFaults([cron], undefined)).toEqual(['cron `eachDay`: no cron can be read here']);
});

it('[living 1.11] faults of crons are one line each, and found again in a text', () => {
  const lines = cronFaults([bad, { ...cron, timeZone: 'Mars' }], reader);
  const found = cronFaultsIn(`An error\ncron is daily\n${lines.join('\n')}\n`);
  expect(found).toEqual([
    { name: 'bad', text: 'cron `bad`: it begins with x (character 1 of `x y`)' },
    { name: 'eachDay', text: 'cron `eachDay`: no such zone' },
  ]);
});
