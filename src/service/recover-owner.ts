import { isHostFolder } from '../cluster/host-folder.ts';
import { type RecoverOutcome, recoverOwner } from '../host/offline/recover-owner.ts';
import { RegistryError } from '../host/registry/database-files.ts';
import { MachineClock } from '../node/clock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import type { OwnerIdentity } from '../values/identity-roles.ts';
import { ConfigurationError } from './configuration.ts';
import { realFolder, requireData, takeToWrite } from './data-folder.ts';

export type Recovered = Extract<RecoverOutcome, { kind: 'recovered' }>;

/**
 * Gives a database of a data folder another owner, while no service uses the folder, when the
 * owner's token was lost. `target` is its name or identity. Throws `ConfigurationError`.
 */
export async function recoverOwnerIn(
  folder: string,
  target: string,
  owner: OwnerIdentity,
): Promise<Recovered> {
  requireData(folder);
  if (isHostFolder(folder)) throw new ConfigurationError(hostText(folder));
  const claim = await takeToWrite(folder);
  const faults: string[] = [];
  try {
    const outcome = await recoverOwner({
      directory: realFolder(folder),
      writer: claim.writer,
      target,
      owner,
      clock: new MachineClock(),
      entropy: new MachineEntropy(),
      report: ({ level, message }) => void (level === 'error' && faults.push(message)),
    });
    if (outcome.kind === 'refused') throw new ConfigurationError(outcome.message);
    if (faults.length > 0) throw new ConfigurationError(faults.join('\n'));
    return outcome;
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new ConfigurationError(error.message, { cause: error });
  } finally {
    claim.release();
  }
}

/** What is changed in one folder alone, the shared log of the registry does not have. */
function hostText(folder: string): string {
  return (
    `${folder} belongs to a host of a cluster, whose hosts share who owns what. An operator of ` +
    'the cluster may do on each database what its owner may.'
  );
}
