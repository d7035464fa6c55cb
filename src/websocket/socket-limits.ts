import { limits } from '../limits.ts';

/** Limits of each connection; an operator can set them. See `limits.ts`. */
export interface SocketLimits {
  readonly pingMillis: number;
  readonly idleMillis: number;
  readonly closeMillis: number;
  readonly messagesInMax: number;
  readonly bytesInMax: number;
  readonly messagesOutMax: number;
  readonly bytesOutMax: number;
}

export function completeSocketLimits(given: Partial<SocketLimits>): SocketLimits {
  return {
    pingMillis: limits.socketPingMillis,
    idleMillis: limits.socketIdleMillis,
    closeMillis: limits.socketCloseMillis,
    messagesInMax: limits.socketMessagesInMax,
    bytesInMax: limits.socketBytesInMax,
    messagesOutMax: limits.socketMessagesOutMax,
    bytesOutMax: limits.socketBytesOutMax,
    ...given,
  };
}
