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

/** Places of requests that are with other hosts: all, or the share of one who shares them. */
export interface PlacesFull {
  readonly of: 'host' | 'database' | 'caller' | 'network';
  readonly max: number;
  /** True: places of those whose bodies are streamed. */
  readonly isStreamed: boolean;
}

/** `full` is absent where as many requests wait for a leader as may. */
export function noPlace(full: PlacesFull | undefined): Refusal {
  if (full === undefined) return tooManyWait();
  const { of, max, isStreamed } = full;
  const bodies = isStreamed ? ' with bodies over 256 KiB' : '';
  if (of === 'caller' || of === 'network') {
    const what =
      of === 'caller' ? `of your requests${bodies}` : `requests${bodies} of your network`;
    return tooManyOfOne(`${max} ${what} are being passed on by this host, the most for one ${of}`);
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

/** As many reads wait here for commits as may of all, of a caller, or of a network. */
export function tooManyReads({ of, max }: Pick<PlacesFull, 'of' | 'max'>): Refusal {
  const wait = 'here for a commit that this host does not have yet';
  if (of === 'caller')
    return tooManyOfOne(`${max} of your reads wait ${wait}, the most for one caller`);
  if (of === 'network') {
    return tooManyOfOne(`${max} reads of your network wait ${wait}, the most for one network`);
  }
  return new Refusal({
    code: 'database.overloaded',
    message:
      `${max} reads wait ${wait}. ` +
      'Try again in a moment, or read from the leader (consistency=leader).',
    retryAfterSeconds: 1,
  });
}

function tooManyOfOne(what: string): Refusal {
  return new Refusal({
    code: 'requests.tooManyOfOne',
    message: `${what}; nothing was done. Try again when one of them has ended.`,
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
