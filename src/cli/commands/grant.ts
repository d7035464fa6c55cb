import type { Command } from 'commander';
import { identityFromHex, identityToHex, notIdentityText } from '../../values/identity.ts';
import { list, number, object, string } from '../../values/json-shape.ts';
import { databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withRequired, withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

const roles = ['reader', 'developer', 'admin'];

const listedGrant = object({
  identity: string,
  role: string,
  granted_by: string,
  /** Microseconds since the Unix epoch. */
  granted_at: number,
});

/** Adds `grant`, `revoke` and `grants`, which manage the roles of others in a database. */
export function addGrant(program: Command, io: Io): void {
  addPut(program, io);
  addRevoke(program, io);
  addGrants(program, io);
}

function addPut(program: Command, io: Io): void {
  withRequired(withYes(withServer(program.command('grant <database> <identity>'))), {
    flags: '--role <role>',
    help: roles.join(', '),
  })
    .description('give an identity a role in a database')
    .action(async (database: string, who: string, { role }: { role: string }, command: Command) => {
      if (!roles.includes(role)) throw new CliError(`--role must be one of ${roles.join(', ')}`, 2);
      const session = new Session(io, command);
      const api = await session.apiWithIdentity(onlyDatabase(session, database).server);
      const identity = checkedIdentity(who);
      await api.text('PUT', databasePath(database, `/grants/${identity}`), {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ role }),
      });
      io.out(`${identity} is now ${role} of ${database}.`);
    });
}

function addRevoke(program: Command, io: Io): void {
  withYes(withServer(program.command('revoke <database> <identity>')))
    .description('remove the role of an identity in a database')
    .action(async (database: string, who: string, _flags, command: Command) => {
      const session = new Session(io, command);
      const api = await session.apiWithIdentity(onlyDatabase(session, database).server);
      const identity = checkedIdentity(who);
      await api.text('DELETE', databasePath(database, `/grants/${identity}`));
      io.out(`${identity} has no role in ${database} now.`);
    });
}

function addGrants(program: Command, io: Io): void {
  withYes(withServer(program.command('grants [database]')))
    .description('list the roles in a database')
    .action(async (word: string | undefined, _flags, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const shape = object({ grants: list(listedGrant) });
      const { grants } = await api.json('GET', databasePath(database, '/grants'), shape);
      if (grants.length === 0) {
        io.out(`Nobody but the owner has a role in ${database}.`);
        return;
      }
      const rows = grants.map(({ identity, role, granted_by, granted_at }) => {
        return [identity, role, granted_by, timeText(granted_at / 1000)];
      });
      io.out(drawTable({ header: ['IDENTITY', 'ROLE', 'GRANTED BY', 'GRANTED AT'], rows }));
    });
}

/** Checks that an identity has the service's form: 64 hex digits. */
function checkedIdentity(given: string): string {
  const identity = identityFromHex(given);
  if (identity !== undefined) return identityToHex(identity);
  const advice = '`reducerdb login show` prints the identity of its user.';
  throw new CliError(`${notIdentityText(given)}. ${advice}`);
}
