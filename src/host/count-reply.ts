import type { DatabaseReply } from '../database/turn.ts';

/** What a database did since the service started. */
export interface ReplyCounts {
  callsCommitted: number;
  callsAborted: number;
  queries: number;
}

/** A preview that was applied counts as what it applied; the others did not happen. */
export function countReply(counts: ReplyCounts, reply: DatabaseReply): void {
  if (reply.kind === 'queried') counts.queries += 1;
  if (reply.kind === 'called') {
    if (reply.outcome.kind === 'committed') counts.callsCommitted += 1;
    else counts.callsAborted += 1;
  }
  if (reply.kind !== 'previewed' || reply.outcome.kind !== 'applied') return;
  if (reply.outcome.preview.result.kind === 'returned') counts.callsCommitted += 1;
  else counts.queries += 1;
}
