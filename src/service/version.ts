import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { name: string; version: string };

export const productName = manifest.name;
export const productVersion = manifest.version;

/** The guide for this version. */
export const guideDirectory = fileURLToPath(new URL('../../docs/guide/', import.meta.url));

/** The built console of this version. */
export const consoleDirectory = fileURLToPath(new URL('../../dist/console/', import.meta.url));

/** The built templates of this version. */
export const templatesDirectory = fileURLToPath(new URL('../../dist/templates/', import.meta.url));
