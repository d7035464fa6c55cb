import { parseEnv } from 'node:util';

/** The file in a module project's folder with the values that its tests read. */
export const envFileName = '.env.reducerdb';

/**
 * The values in a file such as `.env.reducerdb`, in the platform's format: a line is `NAME=value`,
 * with `export` in front if need be; `#` begins a comment; a value in quotes may have several
 * lines, and within double quotes `\n` is one. Lines that are none of this are left out.
 */
export function parseEnvFile(text: string): readonly (readonly [name: string, value: string])[] {
  return Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? '']);
}
