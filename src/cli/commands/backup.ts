import type { Command } from 'commander';
import { bytesText } from '../../values/bytes-text.ts';
import { databasePath } from '../api.ts';
import {
  namedRepository,
  newPassphrase,
  openingKeys,
  ownFlags,
  type RepositoryFlags,
  requireServiceName,
  withRepository,
} from '../backup-flags.ts';
import { createdBackup, printCreated } from '../created-backup.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { jobResult, startedJob } from '../job.ts';
import { Session } from '../session.ts';
import { refuseFlags, withServer, withYes } from '../shared-flags.ts';
import { WorkProgress } from '../work-progress.ts';
import { addList } from './backup-list.ts';
import { addPrune } from './backup-prune.ts';
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
      refuseFlags(flags, ['identityFile'], 'opens a repository; --recipient takes public keys');
      const { initNamed } = await import('../../service/open-repository.ts');
      const named = namedRepository(session, flags);
      const passphrase = flags.passphrase === true ? await newPassphrase(io) : undefined;
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
      if (flags.all !== true) refuseFlags(flags, ['keys'], 'is for a whole host: --all');
      if (flags.to !== undefined) {
        if (word === undefined) throw new CliError('--to takes one database', 2);
        refuseFlags(flags, ['repository', 'logs'], 'is for a backup that the service writes');
        const { streamBackup } = await import('../stream-backup.ts');
        await streamBackup(session, word, flags.to, flags);
        return;
      }
      requireServiceName(flags, placeAdvice);
      refuseFlags(flags, ownFlags, 'is for a place that this command writes to: --to');
      const { repository, history = false, keys = false, logs = false } = flags;
      const body = JSON.stringify({ repository, history, keys, logs });
      const chosen = word === undefined ? undefined : onlyDatabase(session, word);
      const api = await session.apiWithIdentity(chosen?.server);
      const path = chosen === undefined ? '/v1/backups' : databasePath(chosen.database, '/backup');
      const headers = { 'content-type': 'application/json' };
      const { job } = await api.json('POST', path, startedJob, { body, headers });
      const isJson = flags.json === true;
      const wait = { result: createdBackup, what: 'The backup', unit: createUnit, isJson };
      const created = await jobResult(api, job, io, wait);
      printCreated(io, created, isJson);
    });
}

/** Before it ships bytes, a backup of all takes snapshots of one database after another. */
function createUnit(phase: string): string {
  return phase === 'snapshots' ? 'databases' : 'bytes';
}

const placeAdvice =
  'To write one database there from here: --to. Or the operator names the place in config.toml';

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
      if (flags.json === true) {
        io.out(
          JSON.stringify({ id: report.id, depth, objects, stored_bytes: storedBytes, faults }),
        );
      } else if (faults.length === 0) {
        const state = { present: 'present', read: 'ok', deep: 'ok, tested' }[depth];
        io.out(`Backup ${report.id}: ${state} (${objects} objects, ${bytesText(storedBytes)}).`);
      }
      for (const fault of faults) io.err(fault);
      if (faults.length === 0) return;
      const { wholeBefore } = report;
      const advice =
        wholeBefore === undefined ? 'No backup before it is' : `Use ${wholeBefore}, which is`;
      throw new CliError(`Backup ${report.id} is damaged. ${advice} whole.`);
    });
}
