import { historyOf } from '../../database/live/history.ts';
import type { SetId } from '../../database/live/set-id.ts';
import type { OpenConnection } from '../../database/outcome.ts';
import type { Epoch } from '../../log/epoch.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';
import type { LiveResume } from './live-connection.ts';

/** The last acknowledged commit of a host that leads no more, and the epoch of its log. */
export interface LastLed {
  readonly epoch: Epoch;
  readonly offset: CommitOffset;
}

/** What the copy of a host is asked that led before, for a confirmed connection. */
export function farReturn(
  { epoch, offset }: LastLed,
  connection: OpenConnection,
  texts: ReadonlyMap<SetId, readonly string[]> = new Map(),
): LiveResume {
  const sets = [...texts].map(([setId, queries]) => ({ setId, queries }));
  const history = historyOf(epoch, connection);
  return { kind: 'resume', requestId: 0, history, offset: BigInt(offset), sets };
}
