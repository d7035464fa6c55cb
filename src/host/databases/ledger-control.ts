import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerAsk, LedgerPage } from '../ledger/ledger-page.ts';
import type { Access } from '../registry/access.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import { parseTarget } from '../registry/names.ts';
import type { Registry } from '../registry/registry.ts';

/** Why a door refuses a request for a database: a token that is none, or one for less. */
export type DoorRefusal = 'token.invalid' | 'token.limited';

export interface LedgerControlOptions {
  readonly access: Access;
  readonly registry: Pick<Registry, 'name' | 'database'>;
}

/** Reads ledgers for those who may, and notes who came no further than a door. */
export class LedgerControl {
  readonly #ledger: Ledger | undefined;
  readonly #options: LedgerControlOptions;

  constructor(ledger: Ledger | undefined, options: LedgerControlOptions) {
    this.#ledger = ledger;
    this.#options = options;
  }

  /** Throws `Refusal` unless the caller may read the ledger. */
  async page(caller: HostCaller, database: DatabaseRecord, ask: LedgerAsk): Promise<LedgerPage> {
    this.#options.access.require(caller, database, 'viewLedger');
    return (await this.#ledger?.page(database.identity, ask)) ?? { entries: [] };
  }

  /**
   * A door has refused a request for what somebody wrote as the name or identity of a database.
   * Nothing is noted where there is none. `caller`: absent if nothing proves who it was.
   */
  turnedAway(target: string, caller: HostCaller | undefined, why: DoorRefusal): void {
    const parsed = parseTarget(target);
    if (parsed.kind === 'invalid' || this.#ledger === undefined) return;
    const { registry } = this.#options;
    const identity =
      parsed.kind === 'identity' ? parsed.identity : registry.name(parsed.name)?.database;
    if (identity === undefined || registry.database(identity) === undefined) return;
    this.#ledger.turnedAway(identity, caller, why);
  }

  /** The database is gone. */
  async forget(database: DatabaseIdentity): Promise<void> {
    await this.#ledger?.forget(database);
  }

  /** Writes what waits. Nothing may be noted any more. */
  async close(): Promise<void> {
    await this.#ledger?.close();
  }
}
