import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Target } from './project-config.ts';

/** Matches targets by a name, or by a pattern: `*` stands for any characters, `?` for one. */
export function matcherOf(pattern: string): (target: Target) => boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const matcher = new RegExp(`^${source}$`);
  return ({ database }) => database !== undefined && matcher.test(database);
}

/** The module project beside a client, or the current folder. */
export function defaultModuleFolder(cwd: string): string {
  const nested = path.join(cwd, 'spacetimedb');
  return existsSync(nested) ? nested : cwd;
}
