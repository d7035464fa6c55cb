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

/** Places of requests that are with other hosts: all, or the share of a database or a caller. */
export interface PlacesFull {
  readonly of: 'host' | 'database' | 'caller';
  readonly max: number;
  /** True: places of those whose bodies are streamed. */
  readonly isStreamed: boolean;
}

/** `full` is absent where as many requests wait for a leader as may. */
export function noPlace(full: PlacesFull | undefined): Refusal {
  if (full === undefined) return tooManyWait();
  const { of, max, isStreamed } = full;
  const bodies = isStreamed ? ' with bodies over 256 KiB' : '';
  if (of === 'caller') {
    return new Refusal({
      code: 'requests.tooManyOfOne',
      message:
        `${max} of your requests${bodies} are being passed on by this host, ` +
        'the most for one caller; nothing was done. Try again when one of them has ended.',
      retryAfterSeconds: 1,
    });
  }
  const isDatabase = of === 'database';
  const most = isDatabase ? 'the most for one database' : 'the most that it passes on';
  return new Refusal({
    code: 'database.overloaded',
    message:
      `${max} requests${isDatabase ? ' for this database' : ''}${bodies} are being passed on by ` +
      `this host, ${most}; nothing was done. Try again in a moment, or at another host.`,
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
