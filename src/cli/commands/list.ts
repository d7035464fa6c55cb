import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import { CliError, type Io, warnUnstable } from '../io.ts';
import { identityOfToken, notLoggedInText, Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

export function addList(program: Command, io: Io): void {
  withYes(withServer(program.command('list')))
    .description('list the databases that you own')
    .option('--all', 'list all databases of the host (operators only)')
    .action(async (flags: { readonly all?: boolean }, command: Command) => {
      warnUnstable(io);
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      if (flags.all === true) {
        const answer = (await api.json('GET', '/v1/databases')) as AllDatabases;
        io.out(drawTable(tableOf(answer)));
        return;
      }
      if (api.token === undefined) throw new CliError(notLoggedInText);
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

interface AllDatabases {
  readonly databases: readonly {
    readonly names: readonly string[];
    readonly identity: string;
    readonly owner: string;
  }[];
}

function tableOf({ databases }: AllDatabases) {
  const rows = databases.map(({ names, identity, owner }) => [names.join(', '), identity, owner]);
  return { header: ['Database Name(s)', 'Identity', 'Owner'], rows };
}
