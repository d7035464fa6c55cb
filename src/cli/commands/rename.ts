import type { Command } from 'commander';
import { string } from '../../values/json-shape.ts';
import { databasePath, readAnswer, statusText } from '../api.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withRequired, withServer, withYes } from '../shared-flags.ts';

export function addRename(program: Command, io: Io): void {
  withRequired(withYes(withServer(program.command('rename <database>'))), {
    flags: '--to <name>',
    help: 'the new name',
  })
    .description('replace all names of a database with a new one')
    .action(async (database: string, flags: { to: string }, command: Command) => {
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      const identity = await api.text('GET', databasePath(database, '/identity'));
      const answer = await api.send('PUT', databasePath(identity, '/names'), {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([flags.to]),
      });
      if (!answer.ok) throw new CliError(refusal(answer.status, await answer.text(), flags.to));
      io.out(`Name set to ${flags.to} for identity ${identity}.`);
    });
}

/** Turns the service's JSON error into words. */
function refusal(status: number, text: string, name: string): string {
  if (text.startsWith('{"NotYourDatabase"')) return 'You may not rename this database.';
  if (text.startsWith('{"PermissionDenied"')) return `The name ${name} belongs to somebody else.`;
  const [, other] = /^\{"OtherError":(".*")\}$/.exec(text) ?? [];
  return other === undefined ? statusText(status, text) : readAnswer(other, string);
}
