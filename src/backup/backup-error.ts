/**
 * A backup, an archive or a restore cannot do what was asked, for a reason that the user can act
 * on. The host makes a refusal of it.
 */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  readonly code: BackupErrorCode;

  constructor(code: BackupErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
  }
}

export type BackupErrorCode =
  /** There is no repository at the place, one is there already, or it is of a later version. */
  | 'backup.noRepository'
  | 'backup.repositoryThere'
  | 'backup.version'
  /** The place or its settings are not usable. */
  | 'backup.place'
  /** No such backup, or nothing of that database. */
  | 'backup.unknown'
  /** An object of a backup is missing, or not what was written. */
  | 'backup.missing'
  | 'backup.damaged'
  /** A position or time that the repository does not hold. */
  | 'backup.outside'
  | 'backup.wrongKey'
  /** What has to be encrypted would go into a repository that is not, or for others. */
  | 'backup.notEncrypted'
  | 'backup.notEmpty'
  | 'backup.noSpace'
  /** The repository holds another history under the same names. */
  | 'backup.otherHistory'
  /** The files of the database are damaged. */
  | 'backup.source'
  /** Another service archives the database. */
  | 'backup.otherHost'
  /** A prune that names nothing to keep. */
  | 'backup.policy'
  | 'backup.cancelled';

export function noRepositoryError(place: string): BackupError {
  const text = `${place} is no backup repository: ${repositoryFile} is missing`;
  return new BackupError('backup.noRepository', text);
}

/** The name of the file that makes a place a repository. */
export const repositoryFile = 'reducerdb-repository.json';

export function laterRepositoryError(version: number): BackupError {
  const text = `this repository has version ${version}; this program reads version 1`;
  return new BackupError('backup.version', text);
}

export function laterFileError(what: string): BackupError {
  return new BackupError('backup.version', `${what} was written by a newer reducerdb`);
}

export function wrongKeyError(object: string): BackupError {
  const text = `object ${object} is encrypted; none of the given identities opens it`;
  return new BackupError('backup.wrongKey', text);
}

export function missingText(object: string): string {
  return `object ${object} is missing`;
}

export function damagedText(object: string, found: string, expected: string): string {
  return `object ${object} is damaged: SHA-256 ${found}, expected ${expected}`;
}

export function noSpaceError(
  directory: string,
  neededBytes: number,
  freeBytes: number | undefined,
): BackupError {
  const advice = `make room in ${directory}, and restore again; nothing was changed`;
  return new BackupError('backup.noSpace', `${neededText(neededBytes, freeBytes)}: ${advice}`);
}

/** `freeBytes`: `undefined` if the system does not say. */
export function neededText(neededBytes: number, freeBytes: number | undefined): string {
  const free = freeBytes === undefined ? 'too few' : `${freeBytes} bytes`;
  return `restoring needs ${neededBytes} bytes, ${free} are free`;
}

export function notEmptyError(directory: string): BackupError {
  const text = `${directory} is not empty; restore a host into an empty folder`;
  return new BackupError('backup.notEmpty', text);
}

/** Throws when the work was cancelled. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelledError(signal);
}

export function cancelledError(signal: AbortSignal): BackupError {
  return new BackupError('backup.cancelled', 'it was cancelled', signal.reason);
}
