import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';
import type { RegistryReducer } from './registry-module.ts';

type CallRegistry = (reducer: RegistryReducer, values: readonly Value[]) => Promise<void>;

/**
 * How many hosts of a cluster shall have a copy of a database, where an operator has said so; a
 * copy in memory, which follows each change when that is durable.
 */
export class CopyCounts {
  readonly #call: CallRegistry;
  #counts = new Map<DatabaseIdentity, number>();

  constructor(call: CallRegistry) {
    this.#call = call;
  }

  read(rows: readonly (readonly Value[])[]): void {
    this.#counts = new Map(
      rows.map(([database, count]) => [databaseIdentity(database as bigint), Number(count)]),
    );
  }

  /** `undefined`: as many as the cluster has of any database. */
  of(database: DatabaseIdentity): number | undefined {
    return this.#counts.get(database);
  }

  /** `undefined`: as many as the cluster has of any database. */
  async put(database: DatabaseIdentity, count: number | undefined): Promise<void> {
    if (count === undefined) {
      await this.#call('remove_copy_count', [database]);
      this.#counts.delete(database);
      return;
    }
    await this.#call('put_copy_count', [database, count]);
    this.#counts.set(database, count);
  }

  /** The database was removed. */
  forget(database: DatabaseIdentity): void {
    this.#counts.delete(database);
  }
}
