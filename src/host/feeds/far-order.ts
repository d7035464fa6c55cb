import type { FeedRequest } from './feed-owner.ts';
import type { LiveRequest } from './live-connection.ts';

/** True of what only the host that leads can do. */
export function isOfLeader({ kind }: FeedRequest): boolean {
  return kind === 'call' || kind === 'procedure' || kind === 'connect' || kind === 'disconnect';
}

/**
 * How many of the first requests can be sent at once, to the leader or to the copy of this host.
 * Requests take effect in the order in which they were sent, as if one database had them: so one
 * place gets none while the other has some.
 */
export function sendableCount(
  requests: readonly FeedRequest[],
  open: { readonly ofLeader: number; readonly ofCopy: number },
): number {
  const [next] = requests;
  if (next === undefined) return 0;
  const isFar = isOfLeader(next);
  if ((isFar ? open.ofCopy : open.ofLeader) > 0) return 0;
  const end = requests.findIndex((one) => isOfLeader(one) !== isFar);
  return end < 0 ? requests.length : end;
}

/** True of what a client has asked for. */
export function isOfDoor(request: FeedRequest): request is LiveRequest {
  return request.kind !== 'connect' && request.kind !== 'disconnect';
}
