import type { Command } from 'commander';
import { list, object, type Shaped, string } from '../../values/json-shape.ts';
import { databasePath } from '../api.ts';
import { CliError, type Io } from '../io.ts';
import { identityOfToken, notLoggedInText, Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

export function addList(program: Command, io: Io): void {
  withYes(withServer(program.command('list')))
    .description('list the databases that you own')
    .option('--all', 'list all databases of the host (operators only)')
    .action(async (flags: { readonly all?: boolean }, command: Command) => {
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      if (flags.all === true) {
        io.out(drawTable(tableOf(await api.json('GET', '/v1/databases', allDatabases))));
        return;
      }
      if (api.token === undefined) throw new CliError(notLoggedInText);
      const identity = identityOfToken(api.token);
      const path = `/v1/identity/${identity}/databases`;
      const owned = await api.json('GET', path, object({ identities: list(string) }));
      if (owned.identities.length === 0) {
        // Anyone can ask this of any identity: only now is it checked that the token counts here.
        await api.text('GET', `/v1/identity/${identity}/verify`);
        io.out(`No databases found for ${identity}.`);
        return;
      }
      const rows: string[][] = [];
      for (const database of owned.identities) {
        const { names } = await api.json('GET', databasePath(database, '/names'), named);
        rows.push([names.join(', '), database]);
      }
      io.out(`Associated databases for user ${identity}:\n`);
      io.out(drawTable({ header: ['Database Name(s)', 'Identity'], rows }));
    });
}

const named = object({ names: list(string) });

const allDatabases = object({
  databases: list(object({ names: list(string), identity: string, owner: string, state: string })),
});

function tableOf({ databases }: Shaped<typeof allDatabases>) {
  const rows = databases.map(({ names, identity, owner, state }) => {
    return [names.join(', '), identity, owner, state];
  });
  return { header: ['Database Name(s)', 'Identity', 'Owner', 'State'], rows };
}
