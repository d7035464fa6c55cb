import { type VerifiedLog, verifyData } from '../host/verify-data.ts';
import { DirectoryLockedError, lockDirectory } from '../node/directory-lock.ts';
import { ConfigurationError } from './configuration.ts';

/** What was found in one log, in words. */
export interface Finding {
  /** Relative to the data folder. */
  readonly log: string;
  readonly state: VerifiedLog['report']['kind'];
  readonly commits: string;
  readonly detail: string;
}

/**
 * Checks all logs of a data folder while no service uses it. Throws `ConfigurationError` when one
 * does.
 */
export function checkDataFolder(folder: string): Finding[] {
  const lock = takeLock(folder);
  try {
    return verifyData(folder).map(finding);
  } finally {
    lock.release();
  }
}

function takeLock(folder: string) {
  try {
    return lockDirectory(folder);
  } catch (error) {
    if (!(error instanceof DirectoryLockedError)) throw error;
    throw new ConfigurationError(`${error.message}. Stop the service first.`, { cause: error });
  }
}

function finding({ folder, report }: VerifiedLog): Finding {
  const state = report.kind;
  switch (report.kind) {
    case 'absent':
      return { log: folder, state, commits: '', detail: 'no log' };
    case 'intact':
      return { log: folder, state, commits: String(report.contents.offset), detail: '' };
    case 'torn': {
      const detail = 'the end was being written when the service ended; the next start cuts it';
      return { log: folder, state, commits: String(report.contents.offset), detail };
    }
    case 'damaged':
      return { log: folder, state, commits: '', detail: report.error.message };
  }
}
