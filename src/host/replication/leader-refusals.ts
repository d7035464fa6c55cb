import { Refusal } from '../../database/outcome.ts';

/** A request for a database that no host led while the request could wait. */
export function noLeader(): Refusal {
  return new Refusal({
    code: 'database.noLeader',
    message:
      'No host of the cluster leads the database at the moment (database.noLeader). ' +
      'Nothing was done; try again.',
    retryAfterSeconds: 1,
  });
}

/** A request that went to the host that led the database, from which no answer came. */
export function lostElsewhere(): Refusal {
  return new Refusal({
    code: 'database.lost',
    message:
      'The host that leads the database ended, or was cut off, before it answered. ' +
      'Whether the request happened is unknown (outcome: unknown); look before you repeat it.',
  });
}

/** As many requests wait for a leader of the database as may. */
export function tooManyWait(): Refusal {
  return new Refusal({
    code: 'database.overloaded',
    message: 'Too many requests wait for a leader of the database; nothing was done.',
    retryAfterSeconds: 1,
  });
}

/** A read of rows that are no older than something, where the leader does not answer either. */
export function tooOldHere(): Refusal {
  return new Refusal({
    code: 'database.noLeader',
    message:
      'The rows of this host are older than max_age_ms allows, and the host that leads the ' +
      'database does not answer (database.noLeader). Try again, or allow older rows.',
    retryAfterSeconds: 1,
  });
}
