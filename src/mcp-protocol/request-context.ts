import type { JsonObject } from '../values/json.ts';
import type { GivenInput } from './input-required.ts';
import type { Era } from './versions.ts';

/** The context of one request. */
export interface RequestContext<Session> {
  readonly session: Session;
  readonly era: Era;
  /** Capabilities of the client; for a legacy one, only what it can be asked for. */
  readonly clientCapabilities: JsonObject | undefined;
  /** Whether the client said that it speaks a revision with structured results. */
  readonly readsStructured: boolean;
  /** Aborted when the result is no longer needed. Committed changes stay. */
  readonly signal: AbortSignal;
  /** Reports progress to clients that requested it; `done` must grow. Returns at once. */
  progress(done: number, total?: number, message?: string): void;
  /** Sent with the response to clients that requested messages of this level. */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /** The answers in a repeated request. */
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
