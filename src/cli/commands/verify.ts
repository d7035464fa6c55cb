import type { Command } from 'commander';
import type { Finding } from '../../service/data-folder.ts';
import { list, object, string, word } from '../../values/json-shape.ts';
import { databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { jobResult, startedJob } from '../job.ts';
import { dataFolder, dataFolderFlag } from '../service-settings.ts';
import { Session } from '../session.ts';
import { withDataDir, withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

interface VerifyFlags {
  readonly dataDir?: string;
  readonly deep?: boolean;
}

const liveResult = object({
  files: list(
    object({
      name: string,
      state: word('intact', 'damaged', 'set aside', 'unreadable'),
      detail: string,
    }),
  ),
});

/** Adds `verify`: of the folder of a stopped service, or of a database while it serves. */
export function addVerify(program: Command, io: Io): void {
  withYes(withServer(withDataDir(program.command('verify [database]'))))
    .option('--deep', 'replay each log, too, and compare it with its snapshots')
    .description(
      'check that data is intact: that of a stopped service, static files too, or with a ' +
        'database the files of that one while it serves; changes nothing',
    )
    .action(async (database: string | undefined, flags: VerifyFlags, command: Command) => {
      const session = new Session(io, command);
      if (database !== undefined && flags.dataDir !== undefined) {
        throw new CliError('Give a database or --data-dir, not both.', 2);
      }
      const fault =
        database === undefined
          ? await verifyFolder(io, session, flags)
          : await verifyLive(io, session, database, flags.deep === true);
      if (fault !== undefined) throw new CliError(fault);
    });
}

async function verifyFolder(
  io: Io,
  session: Session,
  { dataDir, deep = false }: VerifyFlags,
): Promise<string | undefined> {
  const { checkDataFolder } = await import('../../service/data-folder.ts');
  const folder = dataFolder(session, dataDir);
  const findings = await checkDataFolder(folder, dataFolderFlag(session, dataDir), deep);
  io.out(findingsText(findings));
  return faultOf(findings);
}

async function verifyLive(
  io: Io,
  session: Session,
  given: string,
  isDeep: boolean,
): Promise<string | undefined> {
  const { database, server } = onlyDatabase(session, given);
  const api = await session.apiWithIdentity(server);
  const path = databasePath(database, `/verify?deep=${isDeep}`);
  const { job } = await api.json('POST', path, startedJob);
  const waiting = { result: liveResult, what: 'The check', unit: 'files' };
  const { files } = await jobResult(api, job, io, waiting);
  const rows = files.map(({ name, state, detail }) => [name, state, detail]);
  io.out(drawTable({ header: ['FILE', 'STATE', 'DETAIL'], rows }));
  const bad = files.filter(({ state }) => state === 'damaged' || state === 'unreadable');
  if (bad.length === 0) return undefined;
  return `${bad.length} of ${files.length} files of ${database} are damaged or unreadable.`;
}

const header = ['LOG', 'STATE', 'COMMITS', 'HISTORY', 'SNAPSHOTS', 'DETAIL'] as const;

/** Longer cells follow the table, which would be too wide for a terminal. */
const cellCharactersMax = 120;

function findingsText(findings: readonly Finding[]): string {
  const isLong = ({ detail }: Finding) => detail.length > cellCharactersMax;
  const rows = findings.map((finding) => {
    const { log, state, commits, history, snapshots, detail } = finding;
    return [log, state, commits, history, snapshots, isLong(finding) ? 'see below' : detail];
  });
  const details = findings.filter(isLong).map(({ log, detail }) => `\n${log}:\n${detail}`);
  const table = drawTable({ header: [...header], rows });
  return [table, ...details].join('\n');
}

function faultOf(findings: readonly Finding[]): string | undefined {
  const states = ['damaged', 'forked', 'missing', 'unreadable'] as const;
  const counts = states.map((state) => findings.filter((log) => log.state === state).length);
  const found = states.filter((_, index) => counts[index] !== 0);
  if (found.length === 0) return undefined;
  const count = counts.reduce((sum, one) => sum + one, 0);
  const checked = findings.filter(({ state }) => state !== 'set aside');
  const parts = [
    'logs',
    ...(findings.some(({ log }) => log.endsWith('.rdbs')) ? ['snapshots'] : []),
    ...(findings.some(({ log }) => log.endsWith('.idx')) ? ['indexes'] : []),
    ...(findings.some(({ log }) => log.endsWith('static')) ? ['sets of static files'] : []),
  ];
  const what = new Intl.ListFormat('en', { type: 'conjunction' }).format(parts);
  return `${count} of ${checked.length} ${what} are ${found.join(' or ')}.`;
}
