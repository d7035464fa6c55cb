import { unreachable } from '../assert.ts';
import type { S3Keys } from '../backup/s3-settings.ts';
import type { SharedLog } from '../shared-log/shared-log.ts';
import type { EngineAddress, EnginePlace } from './engine-place.ts';

/**
 * Opens the engine at a place, whose code is loaded only then. Rejects with `EngineError` if it
 * cannot be reached, or cannot hold logs.
 */
export async function openEngine(
  place: EnginePlace,
): Promise<{ readonly sharedLog: SharedLog; close(): void }> {
  switch (place.kind) {
    case 'postgres': {
      const { PostgresEngine } = await import('./postgres/postgres-engine.ts');
      const sharedLog = await PostgresEngine.open(place);
      return { sharedLog, close: () => sharedLog.close() };
    }
    case 's3': {
      const { S3Engine } = await import('./s3/s3-engine.ts');
      const sharedLog = await S3Engine.open(place);
      return { sharedLog, close: () => sharedLog.close() };
    }
    default:
      return unreachable(place);
  }
}

/** The place with the keys that it needs; `undefined`: it needs some, and there are none. */
export function placeWith(
  address: EngineAddress,
  keys: S3Keys | undefined,
): EnginePlace | undefined {
  if (address.kind === 'postgres') return address;
  return keys === undefined ? undefined : { ...address, keys };
}
