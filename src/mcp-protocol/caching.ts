import type { ServerDefinition } from './server-definition.ts';

/** How long a client can cache a result, and whether also for other callers. */
export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: 'public' | 'private';
}

/** For results that depend on the caller or can change at any time. */
export const notCached: Caching = { ttlMs: 0, cacheScope: 'private' };

const cachedByAll: Caching = { ttlMs: 300_000, cacheScope: 'public' };

/** Returns the caching of results that contain no data: tools, prompts, instructions. */
export function cachingOf<Session>(
  definition: ServerDefinition<Session>,
  session: Session,
): Caching {
  return definition.isConstant?.(session) === false ? notCached : cachedByAll;
}
