import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** Sends HTTP requests for modules. Takes and gives messages alone, so it can be on any thread. */
export interface Outbound {
  /** False: every request fails with `disabledText`, even inside a transaction. */
  readonly isEnabled: boolean;
  /**
   * Sends a request and reads the whole answer. Never rejects: any status is a response, and what
   * kept an answer from coming is a failure, for `signal` too.
   */
  fetch(
    database: DatabaseIdentity,
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<FetchOutcome>;
}

export const disabledText = 'module outbound HTTP requests are disabled';
