import fs from 'node:fs';
import path from 'node:path';
import { BackupError } from '../../backup/backup-error.ts';
import { LinkError } from '../../node/private-files.ts';

/**
 * Throws unless a folder, to which a process writes that a module may have taken over, has plain
 * files alone: a link would have the service read, and ship, what that process cannot read. A file
 * with several names could be one of another folder.
 */
export function refuseForeignFiles(directory: string): void {
  for (const { name } of fs.readdirSync(directory, { withFileTypes: true })) {
    const place = path.join(directory, name);
    const found = fs.lstatSync(place);
    if (found.isSymbolicLink()) throw new LinkError(place);
    if (found.isFile() && found.nlink > 1) {
      throw new BackupError('backup.source', `${place} has a second name, in another folder`);
    }
  }
}
