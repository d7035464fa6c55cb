import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where this package is: a clone of its repository, or where a package manager has put it. */
export const packageFolder = fileURLToPath(new URL('../../', import.meta.url));

/** False for a clone: a package manager does not find it by its name. */
export const isInstalled = packageFolder.split(path.sep).includes('node_modules');
