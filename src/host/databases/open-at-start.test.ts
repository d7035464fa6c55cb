import { expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { type ClosedDatabase, openAtStart, type StartChoice } from './open-at-start.ts';

/** `count` databases, of which the first was written last and has the longest log. */
function closed(count: number, opened: number[]): ClosedDatabase[] {
  return Array.from({ length: count }, (_, at) => ({
    log: { bytes: count - at, writtenMillis: count - at },
    isNeeded: false,
    open: () => {
      opened.push(at);
      return Promise.resolve();
    },
  }));
}

async function opensOf(databases: ClosedDatabase[], opened: number[], choice: StartChoice) {
  const reports: string[] = [];
  await openAtStart(databases, choice, ({ message }) => reports.push(message));
  return { opened, reports };
}

it('opens those that were written last, the shortest log first', async () => {
  const opened: number[] = [];
  const { reports } = await opensOf(closed(20, opened), opened, 'lazily');
  const recent = Array.from({ length: limits.startDatabasesMax }, (_, at) => at);
  expect(opened).toEqual(recent.reverse());
  expect(reports).toEqual([
    expect.stringMatching(/^opening 4 of 20 databases \(\d+ bytes of log\), the others when /),
    expect.stringMatching(/^4 of 4 databases serve after \d+\.\d s$/),
  ]);
});

it('opens all of them where that was chosen', async () => {
  const opened: number[] = [];
  await opensOf(closed(20, opened), opened, 'all');
  expect(opened).toEqual(Array.from({ length: 20 }, (_, at) => 19 - at));
});

it('opens what has to be known, and what has no log, whenever it was written', async () => {
  const opened: number[] = [];
  const databases = closed(20, opened);
  const [needed, gone] = databases.slice(18) as [ClosedDatabase, ClosedDatabase];
  databases[18] = { ...needed, isNeeded: true };
  databases[19] = { ...gone, log: undefined };
  await opensOf(databases, opened, 'lazily');
  expect(opened).toHaveLength(limits.startDatabasesMax + 2);
  expect(opened.slice(0, 2)).toEqual([19, 18]);
});

it('goes on after one that cannot open, and says how many do', async () => {
  const opened: number[] = [];
  const databases = closed(3, opened);
  databases[1] = { ...(databases[1] as ClosedDatabase), open: () => Promise.reject(new Error()) };
  const { reports } = await opensOf(databases, opened, 'lazily');
  expect(opened).toEqual([2, 0]);
  expect(reports.at(-1)).toMatch(/^2 of 3 databases serve after /);
});
