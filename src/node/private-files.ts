import fs from 'node:fs';
import path from 'node:path';

/** Files and folders of the data are accessible only to the user of the service. */
export const privateFileMode = 0o600;
export const privateFolderMode = 0o700;

const othersBits = 0o077;

/** An entry of the data folder is a symbolic link. */
export class LinkError extends Error {
  override readonly name = 'LinkError';

  constructor(place: string) {
    const advice = 'Put the file or folder itself there, or mount it';
    super(`${place} is a symbolic link, which is not followed inside a data folder. ${advice}`);
  }
}

/**
 * Throws `LinkError` when `place` is a symbolic link: following it would write wherever it leads. A
 * missing entry is not a link. A process that cannot look above its own folder leaves the check to
 * the process that started it.
 */
export function refuseLink(place: string): void {
  if (statOf(place)?.isSymbolicLink() === true) throw new LinkError(place);
}

function statOf(place: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(place, { throwIfNoEntry: false });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_ACCESS_DENIED') {
      return undefined;
    }
    throw error;
  }
}

/** For opening a file: a link in its place is an error. 0 where the system has no such flag. */
export const noFollow: number = fs.constants.O_NOFOLLOW ?? 0;

/**
 * Removes others' permissions on a folder and everything in it, and returns how many entries had to
 * be changed. Links are left alone. `complain` receives what cannot be changed; where the system
 * has no modes nothing happens.
 */
export function tightenFolder(folder: string, complain: (problem: string) => void): number {
  if (process.platform === 'win32') return 0;
  let count = 0;
  const visit = (place: string): void => {
    const found = fs.lstatSync(place, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (found.isDirectory()) {
      if (tighten(place, found.mode, privateFolderMode, complain)) count += 1;
      for (const name of namesIn(place, complain)) visit(path.join(place, name));
    } else if (found.isFile() && tighten(place, found.mode, privateFileMode, complain)) {
      count += 1;
    }
  };
  visit(folder);
  return count;
}

/** Tightens a folder itself, without its content: 1 when it had to be changed. */
export function tightenEntry(folder: string, complain: (problem: string) => void): number {
  if (process.platform === 'win32') return 0;
  return tighten(folder, fs.statSync(folder).mode, privateFolderMode, complain) ? 1 : 0;
}

/** True when the mode was changed. */
function tighten(
  place: string,
  mode: number,
  wanted: number,
  complain: (problem: string) => void,
): boolean {
  if ((mode & othersBits) === 0) return false;
  try {
    fs.chmodSync(place, wanted);
    return true;
  } catch (error) {
    complain(`${place} can be read by others: ${String(error)}`);
    return false;
  }
}

function namesIn(folder: string, complain: (problem: string) => void): string[] {
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    complain(`${folder} cannot be read: ${String(error)}`);
    return [];
  }
}
