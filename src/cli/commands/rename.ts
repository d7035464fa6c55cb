import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import type { Io } from '../io.ts';
import { withServer, withYes } from '../program.ts';
import { Session } from '../session.ts';

export function addRename(program: Command, io: Io): void {
  withYes(withServer(program.command('rename <database>')))
    .description('give a database one new name, in place of all that it has')
    .requiredOption('--to <name>', 'the new name')
    .action(async (database: string, flags: { to: string }, command: Command) => {
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      const identity = await api.text('GET', databasePath(database, '/identity'));
      await api.text('PUT', databasePath(identity, '/names'), {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([flags.to]),
      });
      io.out(`Name set to ${flags.to} for identity ${identity}.`);
    });
}
