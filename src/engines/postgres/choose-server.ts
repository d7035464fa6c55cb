import { randomUUID } from 'node:crypto';
import { judgeHistory } from '../../shared-log/engine-history.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import type { PostgresPlace } from './postgres-place.ts';
import { poolText, Session } from './session.ts';

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
  await refuseSharedSession(place, chosen, commit);
  return chosen;
}

/**
 * Refuses a pool that gives the session of one client to another between two statements. A session
 * in which the server itself greeted this host is not shared. Of others, a second one begun now
 * must not find the mark that was left in the first.
 */
async function refuseSharedSession(
  place: PostgresPlace,
  session: Session,
  commit: 'on' | 'off',
): Promise<void> {
  if (!session.isPassedOn) return;
  const mark = randomUUID();
  try {
    const text = "select set_config('reducerdb.session', $1, false)";
    await session.run({ name: '', text, values: [mark] });
    const other = await Session.open(place, session.server, commit);
    const seen = [await markIn(other), await markIn(session)];
    other.end();
    if (seen[0] === mark || seen[1] !== mark) throw new EngineError(poolText);
  } catch (error) {
    session.end();
    throw error;
  }
}

async function markIn(session: Session): Promise<string | null | undefined> {
  const text = "select current_setting('reducerdb.session', true) as mark";
  const { rows } = await session.run<{ mark: string | null }>({ name: '', text, values: [] });
  return rows[0]?.mark;
}
