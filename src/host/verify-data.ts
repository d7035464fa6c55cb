import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { DiskError } from '../log/disk.ts';
import { type LogReport, verifyLog } from '../log/verify.ts';
import { MachineDisk } from '../node/disk.ts';
import { identityFromHex } from '../values/identity.ts';
import { registryIdentity } from './registry.ts';

/** One log of a data folder, and what checking it found. */
export interface VerifiedLog {
  /** Relative to the data folder. */
  readonly folder: string;
  readonly report: LogReport;
}

/** The machine does not let a log be read; the text says why. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/**
 * Reads every log below a data folder, the registry's first, and checks all that a start would
 * check, without changing anything. Throws `UnreadableError`. The caller holds the folder's lock,
 * so that nobody writes meanwhile.
 */
export function verifyData(root: string): VerifiedLog[] {
  const logs: { folder: string; identity: bigint }[] = [
    { folder: 'registry', identity: registryIdentity },
  ];
  for (const name of entries(path.join(root, 'databases'))) {
    // Other programs leave files of their own in every folder.
    const identity = identityFromHex(name);
    if (identity === undefined) continue;
    for (const log of entries(path.join(root, 'databases', name))) {
      if (!log.startsWith('log-')) continue;
      logs.push({ folder: path.join('databases', name, log), identity });
    }
  }
  return logs.map(({ folder, identity }) => {
    const directory = path.join(root, folder);
    if (!existsSync(directory)) return { folder, report: { kind: 'absent' } };
    return { folder, report: reportOn(directory, identity) };
  });
}

function reportOn(directory: string, identity: bigint): LogReport {
  try {
    return verifyLog(new MachineDisk(directory), identity);
  } catch (cause) {
    if (cause instanceof DiskError) throw new UnreadableError(cause.message, { cause });
    throw cause;
  }
}

function entries(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
