import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of the rooms: `src`, or `dist` in a built package. Right also where this file has
 * become part of a bundle, because bundles lie one folder deep, too.
 */
export const sourcesFolder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** True where the rooms are compiled. */
export const isBuilt = import.meta.url.endsWith('.js');
