import { encodeValue } from '../../values/encode.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';
import { type EnvRow, envKey, envRowOf, envValues, publishOf, type StagedEnv } from './env-row.ts';
import { envRow, type RegistryReducer } from './registry-module.ts';

type CallRegistry = (reducer: RegistryReducer, values: readonly Value[]) => Promise<void>;

/** Values to be removed, by name, and others to be added. */
export interface RowChange {
  readonly removed: readonly string[];
  readonly added: readonly EnvRow[];
}

/**
 * The configuration of databases, as the registry keeps it: a copy in memory, which follows each
 * change when that is durable.
 */
export class EnvRows {
  readonly #call: CallRegistry;
  /** By database, then by name. */
  readonly #live = new Map<DatabaseIdentity, ReadonlyMap<string, EnvRow>>();
  readonly #staged = new Map<DatabaseIdentity, StagedEnv>();

  constructor(call: CallRegistry) {
    this.#call = call;
  }

  /** Takes in the rows of both tables, in place of those that it has. */
  read(live: readonly (readonly Value[])[], staged: readonly (readonly Value[])[]): void {
    this.#live.clear();
    this.#staged.clear();
    for (const row of live) this.#change(databaseOf(row), { removed: [], added: [envRowOf(row)] });
    for (const row of staged) {
      const database = databaseOf(row);
      const before = this.#staged.get(database)?.rows ?? [];
      this.#staged.set(database, { ...publishOf(row), rows: [...before, envRowOf(row)] });
    }
  }

  /** Databases that have a configuration, or are about to get one. */
  get databases(): ReadonlySet<DatabaseIdentity> {
    return new Set([...this.#live.keys(), ...this.#staged.keys()]);
  }

  /** How many values are encrypted with a key, by its fingerprint. */
  countSealedBy(fingerprint: string): number {
    let count = 0;
    for (const database of this.databases) {
      for (const { value } of [...this.of(database), ...(this.#staged.get(database)?.rows ?? [])]) {
        if ('sealed' in value && value.sealed.by === fingerprint) count += 1;
      }
    }
    return count;
  }

  /** Ascending by name. */
  of(database: DatabaseIdentity): readonly EnvRow[] {
    const rows = [...(this.#live.get(database)?.values() ?? [])];
    return rows.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** What comes with a publish whose outcome is not settled. */
  stagedOf(database: DatabaseIdentity): StagedEnv | undefined {
    return this.#staged.get(database);
  }

  /** Changes values. Staged ones of these names go: they would replace what came later. */
  async set(database: DatabaseIdentity, change: RowChange): Promise<void> {
    const { removed, added } = change;
    const keys = removed.map((name) => envKey(database, name));
    await this.#call('set_env', [keys, encoded(database, added)]);
    this.#change(database, change);
    const staged = this.#staged.get(database);
    if (staged === undefined) return;
    const gone = new Set([...removed, ...added.map(({ name }) => name)]);
    const rows = staged.rows.filter(({ name }) => !gone.has(name));
    if (rows.length === 0) this.#staged.delete(database);
    else this.#staged.set(database, { ...staged, rows });
  }

  /** Writes rows again that differ in their encryption alone. */
  async reseal(database: DatabaseIdentity, added: readonly EnvRow[]): Promise<void> {
    await this.#call('change_env', [[], encoded(database, added)]);
    this.#change(database, { removed: [], added });
  }

  /** Stages values in place of those that are; there is at least one. */
  async stage(database: DatabaseIdentity, staged: StagedEnv): Promise<void> {
    const { generation, program, decider, rows } = staged;
    const values = [database, generation, program, decider, encoded(database, rows)];
    await this.#call('stage_env', values);
    this.#staged.set(database, staged);
  }

  /** Ends what is staged: sets it all, or removes it. */
  async settle(database: DatabaseIdentity, applies: boolean): Promise<void> {
    await this.#call('settle_env', [database, applies]);
    const added = this.#staged.get(database)?.rows ?? [];
    this.#staged.delete(database);
    if (applies) this.#change(database, { removed: [], added });
  }

  /** The database is gone, and its rows are. */
  forget(database: DatabaseIdentity): void {
    this.#live.delete(database);
    this.#staged.delete(database);
  }

  #change(database: DatabaseIdentity, { removed, added }: RowChange): void {
    const changed = new Map(this.#live.get(database));
    for (const name of removed) changed.delete(name);
    for (const row of added) changed.set(row.name, row);
    if (changed.size === 0) this.#live.delete(database);
    else this.#live.set(database, changed);
  }
}

function databaseOf(row: readonly Value[]): DatabaseIdentity {
  return databaseIdentity(row[1] as bigint);
}

function encoded(database: DatabaseIdentity, rows: readonly EnvRow[]): Uint8Array[] {
  return rows.map((row) => encodeValue(envRow, envValues(database, row)));
}
