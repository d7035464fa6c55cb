import type { DatabaseReply } from '../../database/turn.ts';

/** Counts of a database's work since the service started. */
export interface ReplyCounts {
  callsCommitted: number;
  callsAborted: number;
  queries: number;
}

/** Counts a reply. An applied preview counts as what it applied; other previews do not count. */
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
