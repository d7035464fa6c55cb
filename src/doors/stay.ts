import type { RequestCaller } from '../auth/caller.ts';
import { revocableIds } from '../auth/claims.ts';
import type { Rights } from '../database/outcome.ts';
import type { Host } from '../host/host.ts';
import type { DatabaseRecord } from '../host/registry/database-record.ts';
import type { Loss } from '../host/registry/grants.ts';

/** A caller as it was admitted. */
export interface Guest {
  readonly caller: RequestCaller;
  readonly database: DatabaseRecord;
  readonly rights: Rights;
}

/**
 * Whether a caller can stay, as a connected client or with a statement under way: its rights are
 * those it had when it was admitted, so it must leave when it has lost some of them since, and can
 * return with what is left.
 */
export class Stay {
  readonly #host: Host;
  readonly #guest: Guest;
  /** When its limited token or its session expires, in milliseconds since the Unix epoch. */
  readonly #untilMillis: number;

  constructor(host: Host, guest: Guest) {
    this.#host = host;
    this.#guest = guest;
    const { caller } = guest;
    const until = host.grants.endOf(caller, caller.tokenId);
    this.#untilMillis = until === undefined ? Number.POSITIVE_INFINITY : Number(until / 1000n);
  }

  get isOver(): boolean {
    return Date.now() >= this.#untilMillis;
  }

  /** Calls the listener with the reason, once for each loss after which it cannot stay. */
  onFault(listener: (fault: string) => void): () => void {
    return this.#host.grants.onLoss((loss) => {
      const fault = this.concerns(loss) ? this.fault : undefined;
      if (fault !== undefined) listener(fault);
    });
  }

  /** Whether a loss affects this caller, or the maker of its limited token. */
  concerns(loss: Loss): boolean {
    const { caller, database } = this.#guest;
    if (loss.kind === 'token') return revocableIds(caller).includes(loss.id);
    const holder = caller.capability?.by ?? caller.identity;
    return loss.identity === holder && loss.database === database.identity;
  }

  /** The reason why the caller cannot stay, if there is one. */
  get fault(): string | undefined {
    const { caller, database, rights } = this.#guest;
    const { grants } = this.#host;
    if (revocableIds(caller).some((id) => grants.isRevoked(id))) return 'token revoked';
    if (!this.#host.access.hasLost(caller, database, rights)) return undefined;
    return caller.capability === undefined ? 'role revoked' : 'token revoked';
  }
}
