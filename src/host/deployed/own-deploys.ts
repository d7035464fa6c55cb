import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ReadDeploys } from '../../database/deploy-rows.ts';
import { decodeDeploys, settledBy } from './deploy-record.ts';

/** The file of a database's deploys, beside the directory of its log. */
export function deploysFile(directory: string): string {
  return path.join(path.dirname(directory), 'deploys', 'deploys.json');
}

/**
 * Reads what was published, where the database runs: the gateway replaces the file as a whole, and
 * what runs says which of it has happened. A file that cannot be read is an empty list; the gateway
 * complains about it.
 */
export function ownDeploys(directory: string, generation: number): ReadDeploys {
  const file = deploysFile(directory);
  return (served) => settledBy(recordIn(file), served, generation);
}

function recordIn(file: string): ReturnType<typeof decodeDeploys> {
  try {
    return decodeDeploys(readFileSync(file, 'utf8'));
  } catch {
    return { deploys: [], next: undefined };
  }
}
