import { judgeHistory } from '../../shared-log/engine-history.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import type { PostgresPlace } from './postgres-place.ts';
import { Session } from './session.ts';

/**
 * A session with the current primary: of all servers that answer and are no standby, the one with
 * the highest timeline; an old primary that is still running has a lower one. Rejects with
 * `EngineError` if there is none, or if its past does not continue `known`.
 */
export async function openPrimary(
  place: PostgresPlace,
  commit: 'on' | 'off',
  known: string | undefined,
): Promise<Session> {
  const tries = await Promise.allSettled(
    place.servers.map((server) => Session.open(place, server, commit)),
  );
  const sessions = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const primaries = sessions
    .filter(({ facts }) => facts.isPrimary)
    .sort((one, other) => other.facts.timeline - one.facts.timeline);
  const [chosen] = primaries;
  for (const session of sessions) if (session !== chosen) session.end();
  if (chosen === undefined) {
    const failures = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    const reasons = failures.map((reason: Error) => reason.message).join('; ');
    throw new EngineError(
      reasons === '' ? 'No server of PostgreSQL is a primary; all are in recovery.' : reasons,
    );
  }
  const judgement = known === undefined ? undefined : judgeHistory(known, chosen.facts.history);
  if (judgement?.kind === 'refused') {
    chosen.end();
    throw new EngineError(judgement.reason);
  }
  return chosen;
}
