import {
  examineLog,
  type Kept,
  RepairError,
  type Repaired,
  type RepairOptions,
  repairLog,
} from '../host/offline/repair-log.ts';
import { withDataFolder } from '../host/offline/shown-command.ts';
import { type ShownLog, shownLog } from '../host/offline/shown-log.ts';
import { RegistryError } from '../host/registry/database-files.ts';
import { MachineClock } from '../node/clock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { ConfigurationError } from './configuration.ts';
import { realFolder, requireData, takeLock, takeToWrite } from './data-folder.ts';

export type { Kept, ShownLog };

/**
 * Describes the log of a database, in a data folder that no service uses, without changing it.
 * `target` is its name or identity, or the registry's identity. Printed commands end in
 * `folderFlag`, which names the folder. Rejects with `ConfigurationError`.
 */
export async function examineIn(
  folder: string,
  target: string,
  folderFlag: string,
): Promise<ShownLog> {
  requireData(folder);
  const lock = takeLock(folder);
  try {
    const examined = await mendable(() => examineLog(optionsOf(folder, target)));
    const log = shownLog(examined);
    return { ...log, reason: log.reason && withDataFolder(log.reason, folderFlag) };
  } finally {
    lock.release();
  }
}

/** The result of a repair, and the messages reported during it, in full sentences. */
export interface RepairedLog extends Repaired {
  readonly notes: readonly string[];
}

/**
 * Makes a forked or damaged log usable again, in a data folder that no service uses, and sets aside
 * the records it loses. Rejects with `ConfigurationError`.
 */
export async function repairIn(folder: string, target: string, kept: Kept): Promise<RepairedLog> {
  requireData(folder);
  const claim = await takeToWrite(folder);
  const notes: string[] = [];
  try {
    const options = { ...optionsOf(folder, target, notes), writer: claim.writer };
    const repaired = await mendable(() => repairLog(options, kept));
    return { ...repaired, notes };
  } finally {
    claim.release();
  }
}

function optionsOf(folder: string, target: string, notes: string[] = []): RepairOptions {
  return {
    directory: realFolder(folder),
    target,
    clock: new MachineClock(),
    entropy: new MachineEntropy(),
    report: ({ level, message }) => void (level !== 'info' && notes.push(message)),
  };
}

async function mendable<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (cause) {
    if (!(cause instanceof RepairError || cause instanceof RegistryError)) throw cause;
    throw new ConfigurationError(cause.message, { cause });
  }
}
