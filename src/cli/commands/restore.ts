import type { Command } from 'commander';
import type { PlannedHost } from '../../service/offline-backups.ts';
import { bytesText } from '../../values/bytes-text.ts';
import {
  anything,
  boolean,
  list,
  nullable,
  number,
  object,
  optional,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { type Api, databasePath } from '../api.ts';
import {
  namedRepository,
  openingKeys,
  ownFlags,
  type RepositoryFlags,
  requireServiceName,
  withRepository,
} from '../backup-flags.ts';
import { countText } from '../count-text.ts';
import { CliError, confirm, type Io, typesName } from '../io.ts';
import { jobResult, startedJob } from '../job.ts';
import { Session } from '../session.ts';
import { refuseFlags, withServer, withYes } from '../shared-flags.ts';
import { microsText } from '../time-text.ts';
import { WorkProgress } from '../work-progress.ts';

interface RestoreFlags extends RepositoryFlags {
  readonly server?: string;
  readonly database?: string;
  readonly as?: string;
  readonly inPlace?: boolean;
  readonly at?: string;
  readonly all?: boolean;
  readonly replaced?: string;
  readonly withGrants?: boolean;
  readonly sameIdentity?: boolean;
  readonly forceForeign?: boolean;
  readonly runSchedules?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Adds `backup restore`. */
export function addRestore(backup: Command, io: Io): void {
  withRepository(withYes(withServer(backup.command('restore [backup]'))))
    .option('--database <database>', 'what is restored: a name that it had, or its identity')
    .option('--as <name>', 'restore it as a new database')
    .option('--in-place', 'replace the database by it')
    .option('--at <place>', 'up to a position, an offset, or a time')
    .option('--all', 'a whole host, into the empty folder of --data-dir')
    .option('--replaced <number>', 'bring back a log that a restore in place has replaced')
    .option('--with-grants', 'grant the roles that were granted')
    .option('--same-identity', 'keep the identity, if the service does not have it')
    .option('--force-foreign', 'in place also from a backup of another database')
    .option('--run-schedules', 'let its schedules run at once')
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'print JSON')
    .description('restore a backup, by its id, or `latest`')
    .action(async (id: string | undefined, flags: RestoreFlags, command: Command) => {
      const session = new Session(io, command);
      checkFlags(id, flags);
      if (flags.all === true) await restoreAll(session, id ?? 'latest', flags);
      else if (flags.database === undefined) throw new CliError('Name a --database, or --all', 2);
      else if (flags.replaced !== undefined) await bringBack(session, flags.database, flags);
      else await restoreOne(session, flags.database, id ?? 'latest', flags);
    });
}

/** Refuses what the kind of restore would ignore. */
function checkFlags(id: string | undefined, flags: RestoreFlags): void {
  if (flags.all === true) {
    const why = 'is for one database: a whole host is restored as of the moment of its backup';
    refuseFlags(flags, ['at'], `${why}. Restore it, then that database --in-place`);
    refuseFlags(flags, [...ofOne, 'replaced', 'server'], 'is for one database, not for --all');
    return;
  }
  if (flags.replaced !== undefined) {
    if (id !== undefined) throw new CliError(`--replaced takes no backup: leave out ${id}`, 2);
    const why = 'is not for --replaced, which brings back a log that the service has';
    refuseFlags(flags, [...ofNew, 'forceForeign', 'at', 'dryRun', 'repository', ...ownFlags], why);
    return;
  }
  requireServiceName(flags, placeAdvice);
  refuseFlags(flags, ['identityFile', 'passphrase'], keyAdvice);
  refuseFlags(flags, ownFlags, 'is for --all: one database is restored by the service');
  if (flags.inPlace === true) refuseFlags(flags, ofNew, 'is for a new database, not --in-place');
  else refuseFlags(flags, ['forceForeign'], 'is for --in-place');
}

const ofNew = ['as', 'withGrants', 'sameIdentity', 'runSchedules'] as const;
const ofOne = [
  ...(['database', 'as', 'inPlace', 'withGrants', 'sameIdentity', 'forceForeign'] as const),
];

const placeAdvice =
  'To restore from it, the operator of the service gives it a name there, as [repository.NAME] ' +
  'with a url, and starts the service again; then say --repository NAME';

const keyAdvice =
  'does not reach the service, which restores a database itself. To restore from an encrypted ' +
  'repository, the operator names a file with its key in config.toml, as identity-file of its ' +
  '[repository.NAME]; or restore a whole host elsewhere, with --all and an empty --data-dir';

const headers = { 'content-type': 'application/json' };

const planShape = object({
  of: string,
  source: anything,
  source_time: number,
  from: object({ position: string, time: nullable(number) }),
  to: object({ position: string, time: nullable(number) }),
  fault: nullable(string),
  passed_over: list(object({ backup: string, fault: string })),
  bytes: number,
  stored_bytes: number,
  program: string,
  replaces: boolean,
  database: optional(string),
  replaced: optional(number),
});

type Plan = Shaped<typeof planShape>;

async function restoreOne(
  session: Session,
  database: string,
  backup: string,
  flags: RestoreFlags,
): Promise<void> {
  const { io } = session;
  const isInPlace = flags.inPlace === true;
  if (!isInPlace && flags.as === undefined && flags.sameIdentity !== true) {
    throw new CliError('Say where to: --as a new name, or --in-place', 2);
  }
  const { repository, as, at } = flags;
  const order = {
    ...{ repository, backup, as, at, in_place: isInPlace },
    with_grants: flags.withGrants,
    same_identity: flags.sameIdentity,
    force_foreign: flags.forceForeign,
    run_schedules: flags.runSchedules,
  };
  const api = await session.apiWithIdentity();
  const isJson = flags.json === true;
  const send = (body: object) => runJob(session, api, { database, body, isJson });
  const plan = await send({ ...order, dry_run: true });
  if (flags.json !== true) io.out(planText(plan, flags));
  if (flags.dryRun === true) {
    if (flags.json === true) io.out(JSON.stringify(plan));
    return;
  }
  if (isInPlace) await requireName(session, database);
  const done = await send(order);
  if (flags.json === true) io.out(JSON.stringify(done));
  else if (isInPlace) {
    io.out(`Restored ${database} in place. Its log before is replaced-${done.replaced}.`);
  } else io.out(`Restored ${database} as ${as ?? done.database}.`);
}

async function bringBack(session: Session, database: string, flags: RestoreFlags): Promise<void> {
  if (!/^\d{1,9}$/.test(flags.replaced ?? '')) throw new CliError('--replaced must be a number', 2);
  const replaced = Number(flags.replaced);
  await requireName(session, database);
  const api = await session.apiWithIdentity();
  const path = databasePath(database, '/restore');
  const body = JSON.stringify({ replaced });
  const { job } = await api.json('POST', path, startedJob, { body, headers });
  const isJson = flags.json === true;
  const wait = { result: anything, what: 'The restore', unit: 'bytes', isJson };
  const result = await jobResult(api, job, session.io, wait);
  const text = `Brought back replaced-${replaced} of ${database}.`;
  session.io.out(isJson ? JSON.stringify(result) : text);
}

async function runJob(
  { io }: Session,
  api: Api,
  { database, body, isJson }: { database: string; body: object; isJson: boolean },
): Promise<Plan> {
  const path = databasePath(database, '/restore');
  const request = { body: JSON.stringify(body), headers };
  const { job } = await api.json('POST', path, startedJob, request);
  const wait = { result: planShape, what: 'The restore', unit: 'bytes', isJson };
  return jobResult(api, job, io, wait);
}

/** What replaces data has its name typed. */
async function requireName(session: Session, database: string): Promise<void> {
  if (session.flags.yes?.includes('in-place') === true) return;
  const question = `This replaces ${database}. Type its name to go on: `;
  const isTyped = await typesName(session.io, question, { name: database, kind: 'in-place' });
  if (!isTyped) throw new CliError('Nothing was changed.');
}

function planText(plan: Plan, flags: RestoreFlags) {
  const { from, to, bytes, program, source_time, replaces, fault, passed_over } = plan;
  const begin = from.time === null ? 'the first commit' : microsText(from.time);
  const end = to.time === null ? 'the first commit' : microsText(to.time);
  const lines = [
    ...passed_over.map((one) => `Not backup ${one.backup}, which is not all there: ${one.fault}`),
    `Backup of ${microsText(source_time)}: from ${begin} to ${end}`,
    ...(fault === null ? [] : [`  it is not all there: ${fault}`]),
    `  reads ${bytesText(bytes)}, program ${program.slice(0, 12)}`,
    `  up to ${flags.at ?? to.position}`,
    replaces ? '  replaces the present state' : `  as ${flags.as ?? 'the same database'}`,
  ];
  return lines.join('\n');
}

async function restoreAll(session: Session, backup: string, flags: RestoreFlags): Promise<void> {
  const { io } = session;
  if (flags.dataDir === undefined) throw new CliError('--all needs --data-dir, an empty folder', 2);
  const { openNamed } = await import('../../service/open-repository.ts');
  const { planHostRestore } = await import('../../service/offline-backups.ts');
  const { resolve } = await import('node:path');
  const named = namedRepository(session, flags);
  const repository = await openNamed(named, await openingKeys(session, flags));
  const directory = resolve(io.cwd, flags.dataDir);
  const runsSchedules = flags.runSchedules === true;
  const { at } = flags;
  const plan = await planHostRestore(repository, { backup, directory, runsSchedules, at });
  const { databases, bytes, freeBytes } = plan;
  for (const { id, fault } of plan.passedOver) io.err(`Passed over ${id}: ${fault}`);
  const count = databases.length - 1;
  const free = freeBytes === undefined ? '' : `, ${bytesText(freeBytes)} are free`;
  if (flags.json !== true) {
    const what = countText(count, 'database');
    io.out(`Backup ${plan.backup} of ${microsText(plan.timeMicros)}: ${what}`);
    io.out(`  writes ${bytesText(bytes)} to ${directory}${free}`);
    for (const one of plan.leftOut) io.out(`  without ${leftOutText(one)}`);
  }
  if (flags.dryRun === true) {
    if (flags.json === true) io.out(JSON.stringify({ backup: plan.backup, databases, bytes }));
    return;
  }
  if (!(await confirm(io, 'Restore it?', session.answersYes('all')))) {
    io.out('Aborting: nothing was restored.');
    return;
  }
  const progress = new WorkProgress(io, flags.json === true);
  const leftOut = await plan.run((step) => progress.show({ ...step, unit: 'bytes' }));
  progress.end();
  const result = { backup: plan.backup, databases, bytes, left_out: leftOut };
  if (flags.json === true) io.out(JSON.stringify(result));
  else io.out(`Restored. Start it: reducerdb start --data-dir ${flags.dataDir}`);
  if (!runsSchedules && flags.json !== true) {
    io.out('Schedules are paused: reducerdb schedules resume <database> lets them run.');
  }
  if (leftOut.length === 0) return;
  throw new CliError(`not restored: ${leftOut.map(leftOutText).join('; ')}`, 3);
}

function leftOutText({ identity, names, reason }: PlannedHost['leftOut'][number]): string {
  return `${names[0] ?? identity}: ${reason}`;
}
