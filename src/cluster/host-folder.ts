import { existsSync } from 'node:fs';
import path from 'node:path';

/** The file in a data folder that says which host of which cluster it is. */
export const hostFileName = 'cluster.json';

/** True if the folder is that of a host of a cluster. */
export function isHostFolder(folder: string): boolean {
  return existsSync(path.join(folder, hostFileName));
}
