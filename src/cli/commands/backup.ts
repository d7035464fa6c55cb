import type { Command } from 'commander';
import type { PruneReport } from '../../backup/prune.ts';
import { bytesText } from '../../values/bytes-text.ts';
import { list, nullable, number, object, type Shaped, string } from '../../values/json-shape.ts';
import { databasePath } from '../api.ts';
import {
  namedRepository,
  openingKeys,
  type RepositoryFlags,
  withRepository,
} from '../backup-flags.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { jobResult, startedJob } from '../job.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { microsText } from '../time-text.ts';
import { WorkProgress } from '../work-progress.ts';
import { addRestore } from './restore.ts';

/** Adds `backup`: repositories, backups of databases and hosts, checks, and restores. */
export function addBackup(program: Command, io: Io): void {
  const backup = program
    .command('backup')
    .description('back up databases, and restore what was backed up');
  addInit(backup, io);
  addCreate(backup, io);
  addList(backup, io);
  addVerify(backup, io);
  addRestore(backup, io);
  addPrune(backup, io);
}

function addInit(backup: Command, io: Io): void {
  withRepository(backup.command('init'))
    .option('--recipient <key...>', 'encrypt to this public key (age1…)')
    .description('make a folder, or a place in a store, a repository for backups')
    .action(async (flags: RepositoryFlags & { recipient?: string[] }, command: Command) => {
      const session = new Session(io, command);
      const { initNamed } = await import('../../service/open-repository.ts');
      const { passphrase } = await openingKeys(session, flags);
      const named = namedRepository(session, flags);
      const place = await initNamed(named, { recipients: flags.recipient ?? [], passphrase });
      io.out(`${place} is a backup repository now.`);
    });
}

interface CreateFlags extends RepositoryFlags {
  readonly all?: boolean;
  readonly to?: string;
  readonly history?: boolean;
  readonly keys?: boolean;
  readonly logs?: boolean;
  readonly json?: boolean;
}

const createdBackup = object({
  backup: string,
  repository: string,
  time: number,
  new_objects: number,
  new_bytes: number,
  bytes: number,
  databases: list(object({ identity: string, position: string, fault: nullable(string) })),
});

function addCreate(backup: Command, io: Io): void {
  withRepository(withYes(withServer(backup.command('create [database]'))))
    .option('--all', 'all databases of the service, for its operators')
    .option('--to <place>', 'read it from the service and write it here, by this command')
    .option('--history', 'with all of the log that is kept, to restore earlier states')
    .option('--keys', 'with the keys that sign tokens; for encrypted repositories')
    .option('--logs', 'with the logs of modules')
    .option('--json', 'print JSON')
    .description('back up a database, or all of them, while they serve')
    .action(async (word: string | undefined, flags: CreateFlags, command: Command) => {
      const session = new Session(io, command);
      if ((word === undefined) === (flags.all !== true)) {
        throw new CliError('Name a database, or --all', 2);
      }
      if (flags.to !== undefined) {
        if (word === undefined) throw new CliError('--to takes one database', 2);
        const { streamBackup } = await import('../stream-backup.ts');
        await streamBackup(session, word, flags.to, flags);
        return;
      }
      const { repository, history = false, keys = false, logs = false } = flags;
      const body = JSON.stringify({ repository, history, keys, logs });
      const chosen = word === undefined ? undefined : onlyDatabase(session, word);
      const api = await session.apiWithIdentity(chosen?.server);
      const path = chosen === undefined ? '/v1/backups' : databasePath(chosen.database, '/backup');
      const headers = { 'content-type': 'application/json' };
      const { job } = await api.json('POST', path, startedJob, { body, headers });
      const isJson = flags.json === true;
      const wait = { result: createdBackup, what: 'The backup', unit: 'bytes', isJson };
      const created = await jobResult(api, job, io, wait);
      printCreated(io, created, isJson);
    });
}

function printCreated(io: Io, created: Shaped<typeof createdBackup>, json: boolean): void {
  const { backup, repository, bytes, new_bytes, databases } = created;
  const faults = databases.filter(({ fault }) => fault !== null);
  if (json) io.out(JSON.stringify(created));
  else {
    const [first] = databases;
    const what = databases.length === 1 ? `at ${first?.position}` : `${databases.length} logs`;
    const size = `${bytesText(bytes)}, ${bytesText(new_bytes)} of them new`;
    io.out(`Backup ${backup} in ${repository}: ${what}, ${size}.`);
  }
  for (const { identity, fault } of faults) io.err(`${identity} is not all there: ${fault}`);
  if (faults.length > 0) throw new CliError(`${faults.length} databases are not all there`, 3);
}

const listedBackups = object({
  backups: list(
    object({
      id: string,
      time: number,
      databases: list(object({ identity: string, names: list(string), position: string })),
      total_bytes: number,
      new_bytes: number,
      tested: nullable(number),
      read: nullable(number),
      fault: nullable(string),
    }),
  ),
  archives: list(
    object({
      names: list(string),
      identity: string,
      windows: list(object({ from_time: number, to_time: number })),
      total_bytes: number,
    }),
  ),
});

const replacedLogs = object({
  replaced: list(object({ number: number, replaced: number, bytes: number })),
});

interface ListFlags extends RepositoryFlags {
  readonly local?: string;
  readonly json?: boolean;
}

function addList(backup: Command, io: Io): void {
  withRepository(withServer(backup.command('list')))
    .option('--local <database>', 'logs that restores in place have replaced')
    .option('--json', 'print JSON')
    .description('list what a repository holds, with what was checked')
    .action(async (flags: ListFlags, command: Command) => {
      const session = new Session(io, command);
      if (flags.local !== undefined) {
        await listLocal(session, flags.local, flags.json === true);
        return;
      }
      const listed = await listedIn(session, flags);
      io.out(flags.json === true ? JSON.stringify(listed) : listText(listed));
    });
}

async function listedIn(session: Session, flags: ListFlags): Promise<Shaped<typeof listedBackups>> {
  const { isRepositoryName, openNamed } = await import('../../service/open-repository.ts');
  const { repository } = flags;
  if (repository === undefined || isRepositoryName(repository)) {
    const api = await session.apiWithIdentity();
    const query = repository === undefined ? '' : `?repository=${repository}`;
    return api.json('GET', `/v1/backups${query}`, listedBackups);
  }
  const { listRepository } = await import('../../service/offline-backups.ts');
  const opened = await openNamed(
    namedRepository(session, flags),
    await openingKeys(session, flags),
  );
  return listRepository(opened);
}

function calledText({ names, identity }: { names: readonly string[]; identity: string }): string {
  return names[0] ?? identity.slice(0, 12);
}

function listText({ backups, archives }: Shaped<typeof listedBackups>): string {
  const rows = backups.map((one) => [
    one.id,
    microsText(one.time),
    one.fault ?? one.databases.map(calledText).join(', '),
    bytesText(one.total_bytes),
    bytesText(one.new_bytes),
    one.tested === null ? (one.read === null ? '' : 'read') : `tested ${microsText(one.tested)}`,
  ]);
  const table = drawTable({
    header: ['BACKUP', 'TIME', 'DATABASES', 'SIZE', 'NEW', 'CHECKED'],
    rows,
  });
  const lines = archives.map(({ names, identity, windows, total_bytes }) => {
    const spans = windows.map(
      (one) => `${microsText(one.from_time)} to ${microsText(one.to_time)}`,
    );
    const size = bytesText(total_bytes);
    return `Archive of ${names[0] ?? identity}: ${spans.join(', then ')} (${size})`;
  });
  return [backups.length === 0 ? 'There are no backups.' : table, ...lines].join('\n');
}

async function listLocal(session: Session, word: string, json: boolean): Promise<void> {
  const { database, server } = onlyDatabase(session, word);
  const api = await session.apiWithIdentity(server);
  const path = databasePath(database, '/backup/replaced');
  const { replaced } = await api.json('GET', path, replacedLogs);
  if (json) session.io.out(JSON.stringify({ replaced }));
  else if (replaced.length === 0) session.io.out(`No log of ${database} was replaced.`);
  else {
    const rows = replaced.map((one) => [
      String(one.number),
      microsText(one.replaced),
      bytesText(one.bytes),
    ]);
    session.io.out(drawTable({ header: ['NUMBER', 'REPLACED', 'SIZE'], rows }));
  }
}

interface VerifyFlags extends RepositoryFlags {
  readonly read?: boolean;
  readonly deep?: boolean;
  readonly json?: boolean;
}

function addVerify(backup: Command, io: Io): void {
  withRepository(backup.command('verify [id]'))
    .option('--read', 'read all objects, and compare them with their SHA-256')
    .option('--deep', 'restore it into a temporary folder, too; then it counts as tested')
    .option('--json', 'print JSON')
    .description('check that a backup, by default the newest, is all there')
    .action(async (id: string | undefined, flags: VerifyFlags, command: Command) => {
      const session = new Session(io, command);
      const { openNamed } = await import('../../service/open-repository.ts');
      const { verifyIn } = await import('../../service/offline-backups.ts');
      const named = namedRepository(session, flags);
      const repository = await openNamed(named, await openingKeys(session, flags));
      const read = flags.read === true ? 'read' : 'present';
      const depth = flags.deep === true ? 'deep' : read;
      const progress = new WorkProgress(io, flags.json === true);
      const report = await verifyIn(repository, id ?? 'latest', depth, (step) =>
        progress.show({ ...step, unit: 'bytes' }),
      );
      progress.end();
      const { faults, objects, storedBytes } = report;
      if (flags.json === true) io.out(JSON.stringify(report));
      else if (faults.length === 0) {
        const state = { present: 'present', read: 'ok', deep: 'ok, tested' }[depth];
        io.out(`Backup ${report.id}: ${state} (${objects} objects, ${bytesText(storedBytes)}).`);
      }
      for (const fault of faults) io.err(fault);
      if (faults.length > 0) throw new CliError(`Backup ${report.id} is damaged.`);
    });
}

interface PruneFlags extends RepositoryFlags {
  readonly keepLast?: string;
  readonly keepDaily?: string;
  readonly keepWeekly?: string;
  readonly keepMonthly?: string;
  readonly olderThan?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

function addPrune(backup: Command, io: Io): void {
  withRepository(withYes(backup.command('prune')))
    .option('--keep-last <n>', 'keep the last backups of each database')
    .option('--keep-daily <n>', 'keep the last one of so many days')
    .option('--keep-weekly <n>', 'keep the last one of so many weeks')
    .option('--keep-monthly <n>', 'keep the last one of so many months')
    .option('--older-than <duration>', 'remove nothing that is younger')
    .option('--force', 'remove even the last backup of a database')
    .option('--dry-run', 'only say what would be removed')
    .option('--json', 'print JSON')
    .description('remove backups that are not kept, and what only they need')
    .action(async (flags: PruneFlags, command: Command) => {
      const session = new Session(io, command);
      const { openNamed } = await import('../../service/open-repository.ts');
      const { pruneIn } = await import('../../service/offline-backups.ts');
      const named = namedRepository(session, flags);
      const repository = await openNamed(named, await openingKeys(session, flags));
      const policy = await policyOf(flags);
      const plan = await pruneIn(repository, policy, true);
      const text = pruneText(plan);
      for (const fault of plan.faults) io.err(fault);
      if (flags.json !== true) io.out(text);
      if (flags.dryRun === true || (plan.removed.length === 0 && plan.objectCount === 0)) {
        if (flags.json === true) io.out(JSON.stringify(plan));
        return;
      }
      if (!(await confirm(io, 'Remove them?', session.answersYes('delete-data')))) return;
      const report = await pruneIn(repository, policy, false);
      io.out(flags.json === true ? JSON.stringify(report) : 'Removed.');
    });
}

function pruneText({ removed, keptCount, objectCount, objectBytes }: PruneReport): string {
  const objects = `${objectCount} objects, ${bytesText(objectBytes)}`;
  return `${removed.length} backups go, ${keptCount} stay; ${objects}, are not needed any more.`;
}

async function policyOf(flags: PruneFlags) {
  const { parseDuration } = await import('../../doors/duration.ts');
  const older = flags.olderThan === undefined ? undefined : parseDuration(flags.olderThan);
  if (flags.olderThan !== undefined && older === undefined) {
    throw new CliError('--older-than must be a duration, such as 7d', 2);
  }
  return {
    keepLast: countIn('--keep-last', flags.keepLast),
    keepDaily: countIn('--keep-daily', flags.keepDaily),
    keepWeekly: countIn('--keep-weekly', flags.keepWeekly),
    keepMonthly: countIn('--keep-monthly', flags.keepMonthly),
    olderThanMicros: older === undefined ? undefined : older * 1_000,
    isForced: flags.force,
  };
}

function countIn(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new CliError(`${flag} must be a whole number`, 2);
}
