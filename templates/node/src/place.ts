import { existsSync, readFileSync } from 'node:fs';

export interface Place {
  readonly url: string;
  readonly database: string;
}

/**
 * Where the database is. `reducerdb dev` says so to the program that it runs, and notes it in
 * `.reducerdb/dev.json` for programs in other terminals. On a server, set both variables.
 */
export function place(): Place {
  const { REDUCERDB_URL, REDUCERDB_DATABASE } = process.env;
  return { url: REDUCERDB_URL ?? notedUrl(), database: REDUCERDB_DATABASE ?? '{{name}}' };
}

function notedUrl(): string {
  const file = new URL('../.reducerdb/dev.json', import.meta.url);
  if (!existsSync(file)) return 'http://127.0.0.1:3000';
  return JSON.parse(readFileSync(file, 'utf8')).url;
}
