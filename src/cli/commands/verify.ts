import type { Command } from 'commander';
import { CliError, type Io } from '../io.ts';
import { dataFolder } from '../service-settings.ts';
import { Session } from '../session.ts';
import { drawTable } from '../sql-table.ts';

export function addVerify(program: Command, io: Io): void {
  program
    .command('verify')
    .description('check the logs of a stopped service, without changing anything')
    .option('--data-dir <dir>', 'folder of the data (REDUCERDB_DATA_DIR)')
    .action(async (flags: { dataDir?: string }, command: Command) => {
      const { checkDataFolder } = await import('../../service/data-folder.ts');
      const folder = dataFolder(new Session(io, command), flags.dataDir);
      const findings = checkDataFolder(folder);
      io.out(
        drawTable({
          header: ['LOG', 'STATE', 'COMMITS', 'DETAIL'],
          rows: findings.map(({ log, state, commits, detail }) => [log, state, commits, detail]),
        }),
      );
      const damaged = findings.filter(({ state }) => state === 'damaged').length;
      if (damaged > 0) throw new CliError(`${damaged} of ${findings.length} logs are damaged.`);
    });
}
