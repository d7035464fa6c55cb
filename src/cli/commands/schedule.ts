import type { Command } from 'commander';
import {
  boolean,
  list,
  nullable,
  number,
  object,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { databasePath, readAnswer } from '../api.ts';
import { type ChosenDatabase, databaseAndSchedule, onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

const listedSchedule = object({
  name: string,
  kind: string,
  target: string,
  state: string,
  expression: nullable(string),
  /** Key of the row that this is about; `null`: the schedule as a whole. */
  row: nullable(string),
  armed_rows: number,
  /** Times are microseconds since the Unix epoch, durations microseconds. */
  next_due: nullable(number),
  last_run: nullable(number),
  last_outcome: nullable(string),
  last_error: nullable(string),
  runs: number,
  failures: number,
  lateness_p99: nullable(number),
});

type ListedSchedule = Shaped<typeof listedSchedule>;

const scheduleList = object({ paused: boolean, schedules: list(listedSchedule) });

/** Adds `schedule`, for what a database does at times of its own. */
export function addSchedule(program: Command, io: Io): void {
  const schedule = program
    .command('schedule')
    .alias('schedules')
    .description('list, run, skip, pause and resume the schedules of a database');
  addList(schedule, io);
  addOrder(schedule, io, 'run', 'run now what is due next; its due time is used up');
  addOrder(schedule, io, 'skip', 'pass over what is due next');
  addOrder(schedule, io, 'pause', 'run nothing of a schedule, or of all of them, until resumed');
  addOrder(schedule, io, 'resume', 'run a schedule, or all of them, again');
}

function addList(schedule: Command, io: Io): void {
  withYes(withServer(schedule.command('list [database]')))
    .option('--json', 'print JSON')
    .description('list the schedules of a database, with what is due and what has run')
    .action(
      async (word: string | undefined, flags: { readonly json?: boolean }, command: Command) => {
        const session = new Session(io, command);
        const { database, server } = onlyDatabase(session, word);
        const api = await session.apiWithIdentity(server);
        const text = await api.text('GET', databasePath(database, '/schedules'));
        if (flags.json === true) {
          io.out(text);
          return;
        }
        const { paused, schedules } = readAnswer(text, scheduleList);
        if (schedules.length === 0) io.out(`There are no schedules in ${database}.`);
        else io.out(tableOf(schedules));
        if (paused) io.err(`All schedules of ${database} are paused.`);
      },
    );
}

function tableOf(schedules: readonly ListedSchedule[]): string {
  return drawTable({
    header: ['NAME', 'KIND', 'STATE', 'ARMED', 'NEXT DUE', 'LAST RUN', 'RUNS', 'FAILED', 'LATE'],
    rows: schedules.map((one) => [
      one.row === null ? one.name : `${one.name}, row ${one.row}`,
      kindText(one),
      one.state,
      String(one.armed_rows),
      momentText(one.next_due),
      lastText(one),
      String(one.runs),
      String(one.failures),
      one.lateness_p99 === null ? '' : `${Math.round(one.lateness_p99 / 1_000)} ms`,
    ]),
  });
}

function kindText({ kind, target, expression }: ListedSchedule): string {
  if (expression !== null) return `${kind} ${expression}`;
  return target === 'procedure' ? `${kind}, procedure` : kind;
}

function lastText({ last_run, last_outcome, last_error }: ListedSchedule): string {
  const outcome = last_outcome === 'failed' ? `, failed: ${last_error ?? ''}` : '';
  return momentText(last_run) + outcome;
}

function momentText(micros: number | null): string {
  if (micros === null) return '';
  const millis = Math.floor(micros / 1_000);
  // A row can name a time beyond all calendars.
  return Math.abs(millis) > 8.64e15 ? `${micros} µs` : timeText(millis);
}

const done = { run: 'Run', skip: 'Skipped', pause: 'Paused', resume: 'Resumed' } as const;

function addOrder(schedule: Command, io: Io, verb: keyof typeof done, description: string): void {
  const command = withYes(withServer(schedule.command(`${verb} [database] [name]`)));
  const isOfRow = verb === 'run' || verb === 'skip';
  if (isOfRow) command.option('--row <key>', 'only the row with this primary key');
  command
    .description(description)
    .action(
      async (
        first: string | undefined,
        second: string | undefined,
        flags: { readonly row?: string },
        command: Command,
      ) => {
        const { row } = flags;
        const session = new Session(io, command);
        const { chosen, name, without } = await databaseAndSchedule(
          session,
          [first, second],
          (chosen, name) => hasSchedule(session, chosen, name),
        );
        if (row !== undefined && name === undefined) {
          throw new CliError('--row needs the name of its schedule', 2);
        }
        const { database, server } = chosen;
        const api = await session.apiWithIdentity(server);
        const query = new URLSearchParams({
          ...(name !== undefined && { name }),
          ...(row !== undefined && { row }),
        });
        const path = databasePath(database, `/schedules/${verb}`);
        const where = query.size === 0 ? path : `${path}?${query}`;
        const answer = await api.send('POST', where);
        const text = await answer.text();
        if (!answer.ok) {
          const more = without && `\n\`${without}\` has no schedule \`${database}\` either.`;
          throw new CliError(api.failureText(answer.status, text) + (more ?? ''));
        }
        const { schedules } = readAnswer(text, object({ schedules: list(string) }));
        const what = schedules.length === 0 ? 'nothing' : schedules.join(', ');
        io.out(`${done[verb]}: ${what}.`);
      },
    );
}

async function hasSchedule(
  session: Session,
  { database, server }: ChosenDatabase,
  name: string,
): Promise<boolean> {
  const api = await session.apiWithIdentity(server);
  const answer = await api.send('GET', databasePath(database, '/schedules'));
  // Where it cannot be asked, the word means what it means elsewhere.
  if (!answer.ok) return false;
  const { schedules } = readAnswer(await answer.text(), scheduleList);
  return schedules.some((schedule) => schedule.name === name);
}
