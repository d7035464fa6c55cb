import type { Command } from 'commander';
import {
  boolean,
  number,
  object,
  optional,
  type Shaped,
  string,
  word,
} from '../../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from '../api.ts';
import { type ChosenDatabase, onlyDatabase } from '../database-argument.ts';
import { deployList, deployText, type ListedDeploy } from '../deploys.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { trialShape, trialText } from '../plan-report.ts';
import { shownPlanText } from '../prepare-update.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { microsText } from '../time-text.ts';

/** Adds `deploys` and `rollback`. */
export function addDeploys(program: Command, io: Io): void {
  addList(program, io);
  addRollback(program, io);
}

function addList(program: Command, io: Io): void {
  withYes(withServer(program.command('deploys [database]')))
    .option('--json', 'print JSON')
    .description('list what was published to a database, the newest first')
    .action(
      async (given: string | undefined, flags: { readonly json?: boolean }, command: Command) => {
        const session = new Session(io, command);
        const { database, server } = onlyDatabase(session, given);
        const api = await session.apiWithIdentity(server);
        const text = await api.text('GET', databasePath(database, '/deploys'));
        if (flags.json === true) {
          io.out(text);
          return;
        }
        const { running, deploys } = readAnswer(text, deployList);
        if (running === null) io.err(`${database} does not serve: this is what was written down.`);
        io.out(tableOf(deploys, running));
      },
    );
}

function tableOf(deploys: readonly ListedDeploy[], running: number | null): string {
  return drawTable({
    header: ['DEPLOY', 'TIME', 'BY', 'PROGRAM', 'OFFSET', 'MIGRATIONS', 'WHAT'],
    rows: deploys.map((one) => [
      `${one.deploy}${one.deploy === running ? ' *' : ''}`,
      one.time === null ? '' : microsText(one.time),
      one.by === null ? '' : one.by.slice(0, 16),
      `${one.program.slice(0, 12)}${one.kept ? '' : ' (gone)'}`,
      String(one.offset),
      one.migrations.join(', '),
      deployText(one),
    ]),
  });
}

interface RollbackFlags {
  readonly plan?: boolean;
  readonly json?: boolean;
  readonly message?: string;
  readonly breakClients?: boolean;
}

const plannedShape = object({
  of: number,
  program: string,
  message: string,
  migrate_plan: string,
  break_clients: boolean,
  token: string,
  trial: optional(trialShape),
});

type Planned = Shaped<typeof plannedShape>;

const doneShape = object({
  deploy: number,
  of: number,
  program: string,
  offset: number,
  static: word('restored', 'unchanged', 'gone'),
});

function addRollback(program: Command, io: Io): void {
  withYes(withServer(program.command('rollback [database] [deploy]')))
    .option('-m, --message <text>', 'what it is for, as `deploys` lists it')
    .option('--break-clients', 'do not ask before a change that disconnects clients')
    .option('--plan', 'try it on the rows of this moment, show what becomes of them, and stop')
    .option('--json', 'with --plan: print JSON')
    .description('put the program of an earlier deploy back: of the one before, or of this number')
    .action(
      async (
        first: string | undefined,
        second: string | undefined,
        flags: RollbackFlags,
        command: Command,
      ) => {
        const session = new Session(io, command);
        const { chosen, deploy } = targetOf(session, first, second);
        const { database, server } = chosen;
        const api = await session.apiWithIdentity(server);
        if (flags.json === true && flags.plan !== true) {
          throw new CliError('--json needs --plan', 2);
        }
        const plan = await planOf(api, database, deploy, flags.plan === true);
        if (flags.plan === true) {
          showRollback(io, plan, flags.json === true);
          return;
        }
        if (!(await isWanted(session, database, plan, flags))) throw new CliError(abortedText);
        io.out('Rolling back...');
        const done = await rollBack(api, database, plan, flags);
        io.out(doneText(database, done));
      },
    );
}

const abortedText = 'Rollback aborted by user.';

/** In a project with one database, its name can be left out before a number. */
function targetOf(
  session: Session,
  first: string | undefined,
  second: string | undefined,
): { readonly chosen: ChosenDatabase; readonly deploy: string | undefined } {
  const isNumber = first !== undefined && /^\d+$/.test(first) && second === undefined;
  const targets = session.project?.targets ?? [];
  const isOnlyNumber = isNumber && targets.every(({ database }) => database !== first);
  if (isOnlyNumber && targets.length === 1) {
    return { chosen: onlyDatabase(session, undefined), deploy: first };
  }
  if (second !== undefined && !/^\d+$/.test(second)) {
    throw new CliError(`\`${second}\` is not the number of a deploy: see \`reducerdb deploys\``, 2);
  }
  return { chosen: onlyDatabase(session, first), deploy: second };
}

function planOf(api: Api, database: string, deploy: string | undefined, isTried: boolean) {
  const query = new URLSearchParams({
    ...{ dry_run: 'true', ...(isTried && { trial: 'true' }) },
    ...(deploy !== undefined && { deploy }),
  });
  return api.json('POST', databasePath(database, `/rollback?${query}`), plannedShape);
}

async function isWanted(
  session: Session,
  database: string,
  planned: Planned,
  { breakClients }: RollbackFlags,
): Promise<boolean> {
  const { io } = session;
  const { of, migrate_plan: plan, break_clients: breaks } = planned;
  io.out(deployLine(planned));
  if (plan !== '') io.out(plan);
  if (breaks && breakClients !== true) {
    const question = 'The above changes will BREAK existing clients. Do you want to proceed?';
    return confirm(io, question, session.answersYes('break-clients'), abortedText);
  }
  const question = `Do you want to roll ${database} back to deploy ${of}?`;
  return confirm(io, question, session.answersYes('rollback'), abortedText);
}

function deployLine({ of, program, message }: Planned): string {
  return `Deploy ${of}, program ${program.slice(0, 12)}${message === '' ? '' : `, "${message}"`}`;
}

/** Throws where it would fail, after it has shown why. */
function showRollback(io: Io, planned: Planned, isJson: boolean): void {
  const { trial, migrate_plan: plan } = planned;
  const succeeds = trial === undefined || trial.failure === null;
  if (isJson) io.outAsIs(JSON.stringify({ ...planned, succeeds }, null, 2));
  else {
    const tried = trial === undefined ? [] : [trialText(trial)];
    io.out([deployLine(planned), shownPlanText(plan), ...tried].join('\n\n'));
  }
  if (!succeeds) throw new CliError('This rollback would fail. Nothing was changed.');
}

function rollBack(api: Api, database: string, { of, token }: Planned, { message }: RollbackFlags) {
  const query = new URLSearchParams({
    ...{ deploy: String(of), policy: 'BreakClients', token },
    ...(message !== undefined && { message }),
  });
  return api.json('POST', databasePath(database, `/rollback?${query}`), doneShape);
}

function doneText(
  database: string,
  { deploy, of, offset, static: files }: Shaped<typeof doneShape>,
): string {
  const done = `Rolled ${database} back to deploy ${of}, as deploy ${deploy} at commit ${offset}.`;
  if (files === 'unchanged') return done;
  const text =
    files === 'restored'
      ? 'Its static files are served again.'
      : 'Its static files are no longer kept: those of now stay.';
  return `${done}\n${text}`;
}
