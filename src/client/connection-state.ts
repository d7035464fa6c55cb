import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';

/**
 * The state of the connection. Values are immutable; a new state is a new object.
 *
 * ```text
 * connecting ─ first message ─▶ live ─ lost ─▶ waiting ─ timer, online, visible ─▶ connecting
 * connecting ─ failed ─▶ waiting            connecting ─ refused ─▶ closed
 * waiting ─ gave up ─▶ closed               any ─ disconnect() ─▶ closed
 * ```
 *
 * @example
 * ```ts
 * const state: ConnectionState = client.state.get();
 * const text = state.kind === 'waiting' ? `again at ${state.retryAt}` : state.kind;
 * ```
 */
export type ConnectionState =
  | { readonly kind: 'connecting'; readonly attempt: number }
  | {
      readonly kind: 'live';
      readonly identity: Identity;
      readonly connectionId: ConnectionId;
      /** Milliseconds since 1970. */
      readonly since: number;
    }
  | {
      readonly kind: 'waiting';
      readonly attempt: number;
      /** Milliseconds since 1970. */
      readonly retryAt: number;
      readonly error?: Error;
      /** True if the platform, or the server's silence, indicates that there is no network. */
      readonly offline: boolean;
    }
  | { readonly kind: 'closed'; readonly error?: Error };

/**
 * When a lost connection is tried again.
 *
 * @example
 * ```ts
 * const patient: ReconnectOptions = { maxDelayMillis: 60_000, giveUpAfterMillis: 3_600_000 };
 * ```
 */
export interface ReconnectOptions {
  /** Default 250. Doubles with every failure. */
  readonly firstDelayMillis?: number | undefined;
  /** Default 15,000. */
  readonly maxDelayMillis?: number | undefined;
  /** Default 0.5: the delay is multiplied by a random number from 1 minus this up to 1. */
  readonly jitter?: number | undefined;
  /** Counted from the loss of the connection. Default: never. */
  readonly giveUpAfterMillis?: number | undefined;
  /** Default false: the connection ends if the server returns another identity for this client. */
  readonly allowIdentityChange?: boolean | undefined;
}

/** The delay before attempt number `attempt`, which counts the failures since it last held. */
export function delayBefore(attempt: number, options: ReconnectOptions, random: number): number {
  const { firstDelayMillis = 250, maxDelayMillis = 15_000, jitter = 0.5 } = options;
  const delay = Math.min(firstDelayMillis * 2 ** Math.max(0, attempt - 1), maxDelayMillis);
  return delay * (1 - jitter * random);
}
