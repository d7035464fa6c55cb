import { type AcceptedLoss, acceptLosses, LossError } from '../host/offline/accept-losses.ts';
import { MachineClock } from '../node/clock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { ConfigurationError } from './configuration.ts';
import { requireData } from './data-folder.ts';
import type { ServiceLog } from './service-log.ts';

/**
 * Ends logs of a data folder at their last record before a service opens it, and reports this in
 * the service log and the audit log. Rejects with `ConfigurationError` if a log has another fault.
 */
export async function acceptLossesIn(
  folder: string | undefined,
  losses: readonly AcceptedLoss[],
  log: ServiceLog,
): Promise<void> {
  if (losses.length === 0) return;
  try {
    if (folder === undefined) throw new LossError('databases are kept in memory');
    requireData(folder);
    await acceptLosses(losses, {
      directory: folder,
      clock: new MachineClock(),
      entropy: new MachineEntropy(),
      report: (line) => log.report(line),
    });
  } catch (cause) {
    if (!(cause instanceof LossError)) throw cause;
    throw new ConfigurationError(`--accept-loss-after: ${cause.message}.`, { cause });
  }
}
