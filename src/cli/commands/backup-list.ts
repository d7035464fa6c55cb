import type { Command } from 'commander';
import { bytesText } from '../../values/bytes-text.ts';
import { list, nullable, number, object, type Shaped, string } from '../../values/json-shape.ts';
import { databasePath } from '../api.ts';
import {
  namedRepository,
  openingKeys,
  ownFlags,
  type RepositoryFlags,
  withRepository,
} from '../backup-flags.ts';
import { calledText } from '../called-text.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { refuseFlags, withServer } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { beginText, microsText } from '../time-text.ts';

const listedBackups = object({
  backups: list(
    object({
      id: string,
      time: number,
      databases: list(
        object({
          identity: string,
          names: list(string),
          position: string,
          fault: nullable(string),
        }),
      ),
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
      fault: nullable(string),
    }),
  ),
});

const replacedLogs = object({
  replaced: list(object({ number: number, replaced: number, bytes: number })),
});

interface ListFlags extends RepositoryFlags {
  readonly server?: string;
  readonly local?: string;
  readonly json?: boolean;
}

/** Adds `backup list`. */
export function addList(backup: Command, io: Io): void {
  withRepository(withServer(backup.command('list')))
    .argument('[database]', 'only its backups; those of all databases are for operators')
    .option('--local <database>', 'logs that restores in place have replaced')
    .option('--json', 'print JSON')
    .description('list what a repository holds, with what was checked')
    .action(async (database: string | undefined, flags: ListFlags, command: Command) => {
      const session = new Session(io, command);
      if (flags.local !== undefined) {
        const why = 'is not for logs that the service itself keeps: --local';
        refuseFlags(flags, ['repository', ...ownFlags], why);
        if (database !== undefined) throw new CliError('--local names the database itself', 2);
        await listLocal(session, flags.local, flags.json === true);
        return;
      }
      const listed = await listedIn(session, database, flags);
      io.out(flags.json === true ? JSON.stringify(listed) : listText(listed));
    });
}

async function listedIn(
  session: Session,
  word: string | undefined,
  flags: ListFlags,
): Promise<Shaped<typeof listedBackups>> {
  const { isRepositoryName, openNamed } = await import('../../service/open-repository.ts');
  const { repository } = flags;
  const isName = repository === undefined || isRepositoryName(repository);
  if (isName && flags.dataDir === undefined) {
    const why = 'is for a place that this command opens itself, not for one of the service';
    refuseFlags(flags, ownFlags, why);
    const chosen = word === undefined ? undefined : onlyDatabase(session, word);
    const api = await session.apiWithIdentity(chosen?.server);
    const path = chosen === undefined ? '/v1/backups' : databasePath(chosen.database, '/backup');
    const query = repository === undefined ? '' : `?repository=${repository}`;
    return api.json('GET', `${path}${query}`, listedBackups);
  }
  refuseFlags(flags, ['server'], 'is for repositories that the service knows');
  const { listRepository } = await import('../../service/offline-backups.ts');
  const opened = await openNamed(
    namedRepository(session, flags),
    await openingKeys(session, flags),
  );
  const listed = await listRepository(opened);
  return word === undefined ? listed : partOf(listed, word);
}

/** What a repository holds of one database, by a name that it had at the time, or its identity. */
function partOf(
  { backups, archives }: Shaped<typeof listedBackups>,
  word: string,
): Shaped<typeof listedBackups> {
  const isIt = (one: { readonly identity: string; readonly names: readonly string[] }) =>
    one.identity === word || one.names.includes(word);
  return {
    backups: backups.flatMap((one) => {
      const databases = one.databases.filter(isIt);
      return databases.length === 0 ? [] : [{ ...one, databases }];
    }),
    archives: archives.filter(isIt),
  };
}

/** In a list, a database of which the backup has only a part says so. */
function heldText(one: Shaped<typeof listedBackups>['backups'][number]['databases'][number]) {
  return one.fault === null ? calledText(one) : `${calledText(one)} (not all there)`;
}

function listText({ backups, archives }: Shaped<typeof listedBackups>): string {
  const rows = backups.map((one) => [
    one.id,
    microsText(one.time),
    one.fault ?? one.databases.map(heldText).join(', '),
    bytesText(one.total_bytes),
    bytesText(one.new_bytes),
    one.tested === null ? (one.read === null ? '' : 'read') : `tested ${microsText(one.tested)}`,
  ]);
  const header = ['BACKUP', 'TIME', 'DATABASES', 'SIZE', 'NEW', 'CHECKED'];
  const table = backups.length === 0 ? 'There are no backups.' : drawTable({ header, rows });
  if (archives.length === 0) return table;
  const archived = drawTable({
    header: ['ARCHIVE OF', 'FROM', 'TO', 'SIZE'],
    rows: archives.flatMap(archiveRows),
  });
  return `${table}\n\n${archived}`;
}

/** A line for each window: between two of them is a gap. */
function archiveRows(one: Shaped<typeof listedBackups>['archives'][number]): string[][] {
  const name = calledText(one);
  const size = bytesText(one.total_bytes);
  if (one.windows.length === 0) return [[name, one.fault ?? 'nothing can be restored', '', size]];
  return one.windows.map(({ from_time, to_time }, at) => [
    at === 0 ? name : '  after a gap',
    beginText(from_time),
    microsText(to_time),
    at === 0 ? size : '',
  ]);
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
