import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { confirm, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';

export function addDelete(program: Command, io: Io): void {
  withYes(withServer(program.command('delete [database]')))
    .description('delete a database and all its rows')
    .action(async (word: string | undefined, _flags, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const identity = await api.text('GET', databasePath(database, '/identity'));
      const question =
        `Are you sure you want to delete database ${database} (${identity})? ` +
        'This action cannot be undone.';
      if (!(await confirm(io, question, session.answersYes('delete-data')))) {
        io.out('Aborting');
        return;
      }
      await api.text('DELETE', databasePath(identity));
      io.out(`Deleted database ${database} (${identity}).`);
    });
}
