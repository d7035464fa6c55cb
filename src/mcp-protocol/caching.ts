import type { ServerDefinition } from './server-definition.ts';

/** How long a client may keep a result, and whether for other callers too. */
export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: 'public' | 'private';
}

/** Of what depends on the caller, or changes at any moment. */
export const notCached: Caching = { ttlMs: 0, cacheScope: 'private' };

const cachedByAll: Caching = { ttlMs: 300_000, cacheScope: 'public' };

/** Of what a session sees without asking for data: tools, prompts, instructions. */
export function cachingOf<Session>(
  definition: ServerDefinition<Session>,
  session: Session,
): Caching {
  return definition.isConstant?.(session) === false ? notCached : cachedByAll;
}
