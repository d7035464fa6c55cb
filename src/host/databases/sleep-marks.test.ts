import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import type { RestFacts } from '../supervision/rest.ts';
import { SleepMarks } from './sleep-marks.ts';

const identity = databaseIdentity(7n);
const facts: RestFacts = {
  offset: 9,
  nextDueMicros: 1_700_000_000_000_000n,
  used: { rowBytes: 1, logBytes: 2, programBytes: 3 },
  openMillis: 40,
};

let folder: string;
let file: string;
let bytes: number;
let reports: string[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-marks-'));
  file = path.join(folder, 'asleep');
  bytes = 100;
  reports = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As a service that has just started. */
function marks(): SleepMarks {
  const files = {
    sleepMark: () => file,
    logExtent: () => ({ bytes, writtenMillis: 0 }),
  };
  return new SleepMarks(files, ({ message }) => reports.push(message));
}

async function written(given: RestFacts = facts): Promise<SleepMarks> {
  const made = marks();
  made.write(identity, 3, given);
  await made.settled();
  return made;
}

it('[living 6.6] a database that slept at the end is known at the next start', async () => {
  await written();
  expect(marks().read(identity, 3)).toEqual(facts);
  await written({ ...facts, nextDueMicros: undefined });
  expect(marks().read(identity, 3)).toEqual({ ...facts, nextDueMicros: undefined });
});

it('[living 6.6] a mark of another log, or of a changed one, counts for nothing', async () => {
  await written();
  expect(marks().read(identity, 4)).toBeUndefined();
  bytes += 1;
  expect(marks().read(identity, 3)).toBeUndefined();
});

it.each([
  '',
  'null',
  '[]',
  '{"version":2}',
  '{"version":1,"generation":3,"bytes":100,"offset":-1,"due":null,"used":{},"openMillis":1}',
  `{"version":1,"generation":3,"bytes":100,"offset":1,"due":7,"openMillis":1,
    "used":{"rowBytes":1,"logBytes":1,"programBytes":1}}`,
  ' '.repeat(limits.sleepMarkBytesMax + 1),
])('[living 6.6] a mark that cannot be read counts for nothing: %j', async (text) => {
  writeFileSync(file, text);
  const made = marks();
  expect(made.read(identity, 3)).toBeUndefined();
  // It is removed all the same before the log changes.
  await made.remove(identity);
  expect(existsSync(file)).toBe(false);
});

it('[living 6.6] a mark is gone before the log can change, also a half-written one', async () => {
  await written();
  const next = marks();
  next.read(identity, 3);
  await next.remove(identity);
  expect(existsSync(file)).toBe(false);
  expect(next.remove(identity)).toBeUndefined();
  next.write(identity, 3, facts);
  await next.remove(identity);
  expect(existsSync(file)).toBe(false);
  expect(reports).toEqual([]);
});

it('[living 6.6] a mark that cannot be written is reported, and nothing else happens', async () => {
  rmSync(folder, { recursive: true });
  const made = await written();
  expect(reports[0]).toMatch(/^Database [0-9a-f]{64}: the mark of its sleep was not written: /);
  reports = [];
  await made.remove(identity);
  expect(reports[0]).toMatch(/: the mark of its sleep was not removed: /);
});
