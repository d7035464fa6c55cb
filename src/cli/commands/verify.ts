import type { Command } from 'commander';
import type { Finding } from '../../service/data-folder.ts';
import { CliError, type Io } from '../io.ts';
import { dataFolder, dataFolderFlag } from '../service-settings.ts';
import { Session } from '../session.ts';
import { withDataDir } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

export function addVerify(program: Command, io: Io): void {
  withDataDir(program.command('verify'))
    .description(
      'check that data and static files of a stopped service are intact; changes nothing',
    )
    .option('--deep', 'replay each log, too, and compare it with its snapshots')
    .action(async (flags: { dataDir?: string; deep?: boolean }, command: Command) => {
      const { checkDataFolder } = await import('../../service/data-folder.ts');
      const session = new Session(io, command);
      const folder = dataFolder(session, flags.dataDir);
      const folderFlag = dataFolderFlag(session, flags.dataDir);
      const findings = await checkDataFolder(folder, folderFlag, flags.deep === true);
      io.out(findingsText(findings));
      const fault = faultOf(findings);
      if (fault !== undefined) throw new CliError(fault);
    });
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
