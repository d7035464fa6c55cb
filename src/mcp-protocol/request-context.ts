import type { JsonObject } from '../values/json.ts';
import type { GivenInput } from './input-required.ts';
import type { Era } from './versions.ts';

/** What stands behind one request while it is worked on. */
export interface RequestContext<Session> {
  readonly session: Session;
  readonly era: Era;
  /** What the client says it can do; of a legacy one, what it can be asked for. */
  readonly clientCapabilities: JsonObject | undefined;
  /** Aborted when nobody waits for the answer any more. What is committed stays. */
  readonly signal: AbortSignal;
  /**
   * Tells how far the work is, to clients that want to know; `done` must grow. Returns at once.
   */
  progress(done: number, total?: number, message?: string): void;
  /** Goes along with the answer, to clients that asked for messages of this level. */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /** Of a request that is sent again with answers. */
  readonly given: GivenInput | undefined;
}

export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

export type LogLevel = (typeof logLevels)[number];
