import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';
import {
  decodeOwnHistory,
  encodeOwnHistory,
  noOwnHistory,
  type OwnHistory,
} from './history-choice.ts';
import type { RegistryReducer } from './registry-module.ts';

type CallRegistry = (reducer: RegistryReducer, values: readonly Value[]) => Promise<void>;

/**
 * What owners have chosen to keep of the history of their databases, as the registry keeps it: a
 * copy in memory, which follows each change when that is durable.
 */
export class HistoryRows {
  readonly #call: CallRegistry;
  #rows = new Map<DatabaseIdentity, OwnHistory>();

  constructor(call: CallRegistry) {
    this.#call = call;
  }

  read(rows: readonly (readonly Value[])[]): void {
    this.#rows = new Map(
      rows.map(([database, text]) => [
        databaseIdentity(database as bigint),
        decodeOwnHistory(text as string),
      ]),
    );
  }

  of(database: DatabaseIdentity): OwnHistory {
    return this.#rows.get(database) ?? noOwnHistory;
  }

  async put(database: DatabaseIdentity, own: OwnHistory): Promise<void> {
    await this.#call('put_history_setting', [database, encodeOwnHistory(own)]);
    this.#rows.set(database, own);
  }

  /** The database was removed. */
  forget(database: DatabaseIdentity): void {
    this.#rows.delete(database);
  }
}
