import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import { CliError, type Io, warnUnstable } from '../io.ts';
import { withServer, withYes } from '../program.ts';
import { identityOfToken, Session } from '../session.ts';
import { drawTable } from '../sql-table.ts';

export function addList(program: Command, io: Io): void {
  withYes(withServer(program.command('list')))
    .description('list the databases that you own')
    .action(async (_flags, command: Command) => {
      warnUnstable(io);
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      if (api.token === undefined) throw new CliError('You are not logged in.');
      const identity = identityOfToken(api.token);
      const owned = (await api.json('GET', `/v1/identity/${identity}/databases`)) as {
        identities: string[];
      };
      if (owned.identities.length === 0) {
        io.out(`No databases found for ${identity}.`);
        return;
      }
      const rows: string[][] = [];
      for (const database of owned.identities) {
        const { names } = (await api.json('GET', databasePath(database, '/names'))) as {
          names: string[];
        };
        rows.push([names.join(', '), database]);
      }
      io.out(`Associated databases for user ${identity}:\n`);
      io.out(drawTable({ header: ['Database Name(s)', 'Identity'], rows }));
    });
}
