import type { Command } from 'commander';
import { bytesText } from '../../values/bytes-text.ts';
import {
  either,
  list,
  nullable,
  number,
  object,
  record,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { databasePath, readAnswer } from '../api.ts';
import { countText } from '../count-text.ts';
import { onlyDatabase } from '../database-argument.ts';
import { forgotten, forgottenText } from '../forgotten-text.ts';
import { CliError, type Io, typesName } from '../io.ts';
import { jobResult, startedJob } from '../job.ts';
import { Session } from '../session.ts';
import { withRequired, withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

const settingsShape = record(nullable(either(string, number)));

const statusShape = object({
  offset: number,
  durable_offset: number,
  floor: object({ offset: number, time: number }),
  bytes: record(number),
  segments: number,
  snapshots: number,
  holds: list(object({ by: string, from: number, bytes: number })),
  settings: settingsShape,
  chosen: settingsShape,
});

/** Adds `retention`, for how much of the past of a database is kept. */
export function addRetention(program: Command, io: Io): void {
  const retention = program
    .command('retention')
    .description('show, choose and delete what is kept of the history of a database');
  addStatus(retention, io);
  addSet(retention, io);
  addForget(retention, io);
}

function addStatus(retention: Command, io: Io): void {
  withYes(withServer(retention.command('status [database]')))
    .option('--json', 'print JSON')
    .description('show what is kept: from which commit on, since when, in how many bytes')
    .action(
      async (word: string | undefined, flags: { readonly json?: boolean }, command: Command) => {
        const session = new Session(io, command);
        const { database, server } = onlyDatabase(session, word);
        const api = await session.apiWithIdentity(server);
        const text = await api.text('GET', databasePath(database, '/history/status'));
        io.out(flags.json === true ? text : statusText(readAnswer(text, statusShape)));
      },
    );
}

function statusText(status: Shaped<typeof statusShape>): string {
  const { floor, durable_offset: end, bytes, settings, chosen, holds } = status;
  const since = floor.time === 0 ? '' : `, ${timeText(floor.time / 1_000)}`;
  const kinds = Object.entries(bytes).filter(([, count]) => count > 0);
  const rows = [
    ['history', `commits ${floor.offset} to ${end}${since}`],
    [
      'files',
      `${countText(status.segments, 'segment')}, ${countText(status.snapshots, 'snapshot')}`,
    ],
    ...kinds.map(([kind, count]) => [kind, bytesText(count)]),
    ...holds.map(({ by, from, bytes: held }) => {
      return [`held by ${by}`, `from ${from}, ${bytesText(held)}`];
    }),
    ...Object.entries(settings).map(([name, value]) => {
      return [name, `${settingText(name, value)}${name in chosen ? ' (chosen here)' : ''}`];
    }),
  ];
  return drawTable({ header: ['WHAT', 'VALUE'], rows });
}

function settingText(name: string, value: string | number | null): string {
  if (value === null) return 'any number';
  if (name !== 'keep-bytes') return String(value);
  return value === 0 ? 'any amount' : bytesText(Number(value));
}

interface SetFlags {
  readonly keep?: string;
  readonly keepBytes?: string;
  readonly keepCommits?: string;
  readonly onLowDisk?: string;
}

function addSet(retention: Command, io: Io): void {
  withYes(withServer(retention.command('set [database]')))
    .option('--keep <time>', 'commits younger than this stay: 30d, everything, or 0')
    .option('--keep-bytes <size>', 'bytes of old segments and snapshots: 4GiB, or 0 for any amount')
    .option('--keep-commits <count>', 'so many commits at most')
    .option('--on-low-disk <what>', 'shrink, or warn, when the disk is nearly full')
    .description('choose what is kept; `default` is what the service has configured')
    .action(async (word: string | undefined, flags: SetFlags, command: Command) => {
      const given = {
        keep: flags.keep,
        'keep-bytes': flags.keepBytes,
        'keep-commits': flags.keepCommits,
        'on-low-disk': flags.onLowDisk,
      };
      const change = Object.entries(given).filter(([, value]) => value !== undefined);
      if (change.length === 0) throw new CliError('Say what to set, such as --keep 30d.', 2);
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const values = change.map(([name, value]) => [name, value === 'default' ? null : value]);
      const answer = await api.text('PUT', databasePath(database, '/history/settings'), {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(Object.fromEntries(values)),
      });
      const { settings } = readAnswer(answer, object({ settings: settingsShape }));
      const rows = Object.entries(settings).map(([name, value]) => {
        return [name, settingText(name, value)];
      });
      io.out(drawTable({ header: ['SETTING', 'IN FORCE'], rows }));
    });
}

function addForget(retention: Command, io: Io): void {
  withRequired(withYes(withServer(retention.command('forget <database>'))), {
    flags: '--before <position>',
    help: 'an offset, a time with its zone, or "now - 7d"',
  })
    .description('delete the history up to a commit, and all that is older than the present state')
    .action(async (word: string, { before }: { readonly before: string }, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      io.err(
        `The history of ${database} before a snapshot that is taken now will be deleted: nothing ` +
          'older can be read, restored or undone. The rows of the present stay.',
      );
      if (!(await isTyped(io, database, session.answersYes('forget')))) {
        io.out('Aborting');
        return;
      }
      const path = databasePath(database, '/history/forget');
      const request = {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ before, confirm: database }),
      };
      const { job } = await api.json('POST', path, startedJob, request);
      const waiting = { result: forgotten, what: 'Deleting the history', unit: 'rows' };
      io.out(forgottenText(database, await jobResult(api, job, io, waiting)));
    });
}

async function isTyped(io: Io, database: string, isSkipped: boolean): Promise<boolean> {
  if (isSkipped) {
    io.err('Skipping confirmation due to --yes');
    return true;
  }
  const question = 'Type the name of the database to go on: ';
  return typesName(io, question, { name: database, kind: 'forget' });
}
