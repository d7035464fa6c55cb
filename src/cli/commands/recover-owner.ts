import type { Command } from 'commander';
import { identityFromHex, identityToHex } from '../../values/identity.ts';
import { ownerIdentity } from '../../values/identity-roles.ts';
import { CliError, type Io } from '../io.ts';
import { dataFolder } from '../service-settings.ts';
import { Session } from '../session.ts';

interface RecoverFlags {
  readonly identity: string;
  readonly dataDir?: string;
}

export function addRecoverOwner(program: Command, io: Io): void {
  program
    .command('recover-owner <database>')
    .description('give a database to another identity, in the data folder of a stopped service')
    .requiredOption('--identity <identity>', 'the new owner')
    .option('--data-dir <dir>', 'folder of the data (REDUCERDB_DATA_DIR)')
    .action(async (database: string, flags: RecoverFlags, command: Command) => {
      const owner = identityFromHex(flags.identity);
      if (owner === undefined) throw new CliError('--identity: 64 hex digits', 2);
      const { recoverOwnerIn } = await import('../../service/recover-owner.ts');
      const folder = dataFolder(new Session(io, command), flags.dataDir);
      const recovered = await recoverOwnerIn(folder, database, ownerIdentity(owner));
      io.out(`Database ${database} (${identityToHex(recovered.database)}) belongs to`);
      io.out(`${identityToHex(owner)} now; before, it belonged to`);
      io.out(identityToHex(recovered.formerOwner));
    });
}
