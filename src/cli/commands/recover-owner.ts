import type { Command } from 'commander';
import { identityFromHex, identityToHex, notIdentityText } from '../../values/identity.ts';
import { ownerIdentity } from '../../values/identity-roles.ts';
import { CliError, type Io } from '../io.ts';
import { dataFolder } from '../service-settings.ts';
import { Session } from '../session.ts';
import { withDataDir, withRequired } from '../shared-flags.ts';

interface RecoverFlags {
  readonly identity: string;
  readonly dataDir?: string;
}

export function addRecoverOwner(program: Command, io: Io): void {
  withRequired(withDataDir(program.command('recover-owner <database>')), {
    flags: '--identity <identity>',
    help: 'the new owner',
  })
    .description('give a database to another identity, in the data folder of a stopped service')
    .action(async (database: string, flags: RecoverFlags, command: Command) => {
      const owner = identityFromHex(flags.identity);
      if (owner === undefined)
        throw new CliError(`--identity: ${notIdentityText(flags.identity)}`, 2);
      const { recoverOwnerIn } = await import('../../service/recover-owner.ts');
      const folder = dataFolder(new Session(io, command), flags.dataDir);
      const recovered = await recoverOwnerIn(folder, database, ownerIdentity(owner));
      io.out(`Database ${database} (${identityToHex(recovered.database)}) has a new owner.`);
      io.out(`New owner:    ${identityToHex(owner)}`);
      io.out(`Former owner: ${identityToHex(recovered.formerOwner)}`);
    });
}
