import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import type { Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';

export function addLock(program: Command, io: Io): void {
  for (const verb of ['lock', 'unlock'] as const) {
    withYes(withServer(program.command(`${verb} [database]`)))
      .description(verb === 'lock' ? 'protect a database from deletion and reset' : 'remove a lock')
      .action(async (word: string | undefined, _flags, command: Command) => {
        const session = new Session(io, command);
        const { database, server } = onlyDatabase(session, word);
        const api = await session.apiWithIdentity(server);
        await api.text('POST', databasePath(database, `/${verb}`));
        io.out(
          verb === 'lock'
            ? `Database ${database} is now locked. It cannot be deleted until unlocked.`
            : `Database ${database} is now unlocked.`,
        );
      });
  }
}
