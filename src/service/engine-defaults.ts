import type { EngineKind } from '../engines/engine-place.ts';
import { limits } from '../limits.ts';

export interface EngineDefaults {
  readonly leaseMillis: number;
  readonly beatMillis: number;
  readonly gatherMillis: number;
  /** Writes are back within this after the loss of a leader, with these defaults. */
  readonly failOverSecondsMax: number;
}

/** What a cluster does by default on such an engine. */
export function engineDefaults(kind: EngineKind): EngineDefaults {
  if (kind === 'postgres') {
    const { leaseMillis, beatMillis } = limits;
    return { leaseMillis, beatMillis, gatherMillis: 0, failOverSecondsMax: 5 };
  }
  return {
    ...{ leaseMillis: limits.s3LeaseMillis, beatMillis: limits.s3BeatMillis },
    ...{ gatherMillis: limits.s3GatherMillis, failOverSecondsMax: 10 },
  };
}
