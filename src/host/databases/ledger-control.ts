import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerAsk, LedgerPage } from '../ledger/ledger-page.ts';
import type { Access } from '../registry/access.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';

/** Reads ledgers for those who may. */
export class LedgerControl {
  readonly #ledger: Ledger | undefined;
  readonly #access: Access;

  constructor(ledger: Ledger | undefined, access: Access) {
    this.#ledger = ledger;
    this.#access = access;
  }

  /** Throws `Refusal` unless the caller may read the ledger. */
  async page(caller: HostCaller, database: DatabaseRecord, ask: LedgerAsk): Promise<LedgerPage> {
    this.#access.require(caller, database, 'viewLedger');
    return (await this.#ledger?.page(database.identity, ask)) ?? { entries: [] };
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
