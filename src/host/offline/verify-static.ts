import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { noFollow, refuseLink } from '../../node/private-files.ts';
import { identityFromHex } from '../../values/identity.ts';
import { JsonError } from '../../values/json-error.ts';
import { decodeServed } from '../sites/served-site.ts';
import { decodeSet, setId } from '../sites/site-set.ts';

/** The static files of one database, and the result of checking them. */
export interface VerifiedStatic {
  /** Relative to the data folder. */
  readonly folder: string;
  readonly state: 'intact' | 'damaged' | 'missing' | 'unreadable';
  /** The first fault, and what to do; empty: none. */
  readonly detail: string;
}

/** Checks the hashes of all static files that databases below a data folder serve. */
export function verifyStatic(root: string): VerifiedStatic[] {
  const databases = path.join(root, 'databases');
  const names = fs.existsSync(databases) ? fs.readdirSync(databases).sort() : [];
  return names
    .filter((name) => identityFromHex(name) !== undefined)
    .map((name) => path.join('databases', name, 'static'))
    .filter((folder) => fs.existsSync(path.join(root, folder, 'served.json')))
    .map((folder) => ({ folder, ...stateOf(path.join(root, folder)) }));
}

function stateOf(folder: string): Omit<VerifiedStatic, 'folder'> {
  let name = 'served.json';
  try {
    refuseLink(folder);
    const { setId: id, earlier } = decodeServed(readText(path.join(folder, name)));
    const files = [...earlier];
    if (id !== undefined) {
      name = `${id}.set`;
      const text = readText(path.join(folder, name));
      if (setId(text) !== id) return fault('damaged', name);
      files.push(...decodeSet(text).files.map((file) => ({ ...file, untilMillis: 0 })));
    }
    for (const hash of new Set(files.map((file) => file.hash))) {
      name = hash;
      if (hashOf(path.join(folder, name)) !== hash) return fault('damaged', name);
    }
    return { state: 'intact', detail: '' };
  } catch (error) {
    if (error instanceof JsonError) return fault('damaged', name);
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isAbsent) return fault('missing', name);
    return { state: 'unreadable', detail: (error as Error).message };
  }
}

function fault(state: 'damaged' | 'missing', name: string): Omit<VerifiedStatic, 'folder'> {
  const what = state === 'missing' ? 'is not there' : 'is not what it was';
  return { state, detail: `${name} ${what}; restore it from a backup, or publish the files again` };
}

function readText(place: string): string {
  return withFile(place, (descriptor) => fs.readFileSync(descriptor, 'utf8'));
}

const pieceBytes = 1024 * 1024;

function hashOf(place: string): string {
  return withFile(place, (descriptor) => {
    const digest = createHash('sha256');
    const buffer = Buffer.allocUnsafe(pieceBytes);
    for (;;) {
      const length = fs.readSync(descriptor, buffer);
      if (length === 0) return digest.digest('hex');
      digest.update(buffer.subarray(0, length));
    }
  });
}

function withFile<Result>(place: string, read: (descriptor: number) => Result): Result {
  const descriptor = fs.openSync(place, fs.constants.O_RDONLY | noFollow);
  try {
    return read(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
