import { Allowance } from '../../auth/allowance.ts';
import type { SecretKeys } from '../../auth/secret-keys.ts';
import type { Clock } from '../../database/clock.ts';
import { Refusal, refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { type ActorEnv, type EnvReader, envFor, type ModuleEnv } from '../../module/module-env.ts';
import type { Report } from '../../node/report-line.ts';
import { envNameFault } from '../../schema/env-values.ts';
import { identityToHex } from '../../values/identity.ts';
import type { CallerIdentity, DatabaseIdentity } from '../../values/identity-roles.ts';
import type { EnvRow, StagedEnv } from './env-row.ts';
import { Listeners } from './listeners.ts';
import type { Registry } from './registry.ts';

export interface EnvStoreOptions {
  readonly registry: Registry;
  readonly keys: SecretKeys;
  readonly clock: Clock;
  readonly report: Report;
}

/** A value to be set. */
export interface GivenEnv {
  readonly name: string;
  readonly text: string;
  readonly isSecret: boolean;
}

/** Called after a change; a promise resolves when what follows knows of it. */
type Follower = () => void | Promise<void>;

export interface EnvChange {
  /** Names that are no longer set. */
  readonly removed?: readonly string[];
  readonly given?: readonly GivenEnv[];
  readonly by: CallerIdentity;
}

/**
 * The configuration of all databases: what the registry keeps, with secrets encrypted, and what
 * programs may read of it. A change is durable before it is visible, and visible to the lanes and
 * then to the actor of its database before the caller who made it gets the answer.
 */
export class EnvStore {
  readonly #options: EnvStoreOptions;
  /** Who follows one database: its lanes. They are called before `#actors`. */
  readonly #lanes = new Map<DatabaseIdentity, Set<Follower>>();
  readonly #actors = new Listeners<DatabaseIdentity>();
  /** For actors, with the generation that reads what is staged; dropped by a change. */
  readonly #plain = new Map<DatabaseIdentity, ActorEnv & { readonly generation?: number }>();
  /**
   * What was set before a publish: calls that its predecessor began may read it after. It is here
   * until the next publish, and while there are lanes.
   */
  readonly #replaced = new Map<DatabaseIdentity, StagedEnv>();
  /** The registry's log never shrinks, so nobody may write to it without end. */
  readonly #allowances = new Map<DatabaseIdentity, Allowance>();
  /** What of each database was announced last; only in a cluster. */
  readonly #seen = new Map<DatabaseIdentity, string>();
  #changeCount = 0;
  #lastVersion = 0n;

  constructor(options: EnvStoreOptions) {
    this.#options = options;
  }

  /** What is set, ascending by name; with a reader, what that program reads. */
  rows(database: DatabaseIdentity, reader?: Omit<EnvReader, 'identity'>): readonly EnvRow[] {
    const live = this.#rows.of(database);
    const staged = this.stagedOf(database);
    if (staged === undefined || staged.generation !== reader?.generation) return live;
    return staged.program === reader.program ? merged(live, staged) : live;
  }

  /** The publish that brings values, and is not settled. */
  stagedOf(database: DatabaseIdentity): StagedEnv | undefined {
    return this.#rows.stagedOf(database);
  }

  /** How many values are encrypted with a key, by its fingerprint. */
  countSealedBy(fingerprint: string): number {
    return this.#rows.countSealedBy(fingerprint);
  }

  /** Databases that have values, or are about to get some. */
  get databases(): Iterable<DatabaseIdentity> {
    return this.#rows.databases;
  }

  /** False: the key of the secret is missing. */
  isReadable({ value }: EnvRow): boolean {
    return 'plain' in value || this.#options.keys.has(value.sealed.by);
  }

  /** What an actor of this generation may know: everything but the texts of secrets. */
  plain(database: DatabaseIdentity, generation: number): ActorEnv {
    let known = this.#plain.get(database);
    if (known === undefined) {
      const live = this.#rows.of(database);
      const staged = this.#rows.stagedOf(database);
      known = { live: this.#plainOf(live) };
      if (staged !== undefined) {
        const env = this.#plainOf(merged(live, staged));
        const { program, generation: of } = staged;
        known = { ...known, generation: of, staged: { program, env } };
      }
      this.#plain.set(database, known);
    }
    return known.generation === generation ? known : { live: known.live };
  }

  /** Its texts are read again when they are needed. */
  dropPlain(database: DatabaseIdentity): void {
    this.#plain.delete(database);
  }

  #plainOf(rows: readonly EnvRow[]): ModuleEnv {
    const values: Record<string, string> = {};
    const secrets: string[] = [];
    for (const { name, value } of rows) {
      if ('plain' in value) values[name] = value.plain;
      else secrets.push(name);
    }
    const unreadable = rows.filter((row) => !this.isReadable(row)).map(({ name }) => name);
    this.#changeCount += 1;
    return { version: this.#changeCount, values, secrets, unreadable };
  }

  /** Also the texts of secrets, for the lanes of the database alone. */
  async whole(reader: EnvReader): Promise<ModuleEnv> {
    const { keys } = this.#options;
    const { identity: database, generation, program } = reader;
    const replaced = this.#replacedRows(reader);
    const rows = replaced ?? this.rows(database, reader);
    const before = replaced
      ? this.#plainOf(replaced)
      : envFor(this.plain(database, generation), program);
    const values: Record<string, string> = { ...before.values };
    const unreadable: string[] = [];
    for (const { name, version, value } of rows) {
      if (!('sealed' in value)) continue;
      const text = await keys.open(value.sealed, { database, name, version });
      if (text !== undefined) {
        values[name] = text;
        continue;
      }
      unreadable.push(name);
      if (keys.has(value.sealed.by)) this.#reportDamage(database, name);
    }
    return { ...before, values, unreadable };
  }

  /** Calls `changed` after each change of one database, until the result is called. */
  follow(database: DatabaseIdentity, changed: Follower): () => void {
    const followers = this.#lanes.get(database) ?? new Set<Follower>();
    this.#lanes.set(database, followers.add(changed));
    return () => {
      followers.delete(changed);
      if (followers.size > 0) return;
      this.#lanes.delete(database);
      this.#replaced.delete(database);
    };
  }

  /** Calls `changed` after each change, when those who follow its database have been called. */
  onChange(changed: (database: DatabaseIdentity) => void): void {
    this.#actors.add(changed);
  }

  /**
   * Resolves when all that runs has learned of a change. After each change, and not exclusively:
   * who follows may take a moment.
   */
  async announce(database: DatabaseIdentity): Promise<void> {
    const followers = [...(this.#lanes.get(database) ?? [])];
    await Promise.all(followers.map((changed) => changed()));
    this.#actors.tell(database);
  }

  /**
   * Throws `Refusal` `env.invalid` for what cannot be set. What comes with a publish that is not
   * settled is replaced, too: this was set later. Must run exclusively, and be announced.
   */
  async change(database: DatabaseIdentity, change: EnvChange): Promise<void> {
    const added = await this.#rowsOf(database, change);
    await this.#rows.set(database, { removed: change.removed ?? [], added });
    this.#plain.delete(database);
  }

  /**
   * Writes values that come with a publish, in place of those that are staged. Throws like
   * `change`; must run exclusively. The actor is notified, and no lane: theirs are the same.
   */
  async stage(
    database: DatabaseIdentity,
    publish: Omit<StagedEnv, 'rows'>,
    change: Pick<EnvChange, 'given' | 'by'>,
  ): Promise<void> {
    const rows = await this.#rowsOf(database, change);
    await this.#rows.stage(database, { ...publish, rows });
    this.#plain.delete(database);
    this.#actors.tell(database);
  }

  /** Sets what is staged, or removes it. Must run exclusively, and be announced. */
  async settle(database: DatabaseIdentity, applies: boolean): Promise<void> {
    const staged = this.stagedOf(database);
    const rows = this.#rows.of(database);
    await this.#rows.settle(database, applies);
    this.#plain.delete(database);
    if (staged === undefined || !applies || !this.#lanes.has(database)) return;
    this.#replaced.set(database, { ...staged, rows });
  }

  /** A program takes the place of the one that runs. */
  replaces(database: DatabaseIdentity): void {
    this.#replaced.delete(database);
  }

  #replacedRows({ identity, generation, program }: EnvReader): readonly EnvRow[] | undefined {
    const replaced = this.#replaced.get(identity);
    if (replaced?.generation !== generation || replaced.program === program) return undefined;
    return replaced.rows;
  }

  async #rowsOf(database: DatabaseIdentity, change: EnvChange): Promise<readonly EnvRow[]> {
    const { keys, clock } = this.#options;
    const { removed = [], given = [], by } = change;
    const before = [...this.#rows.of(database), ...(this.stagedOf(database)?.rows ?? [])];
    this.#check(before, given, removed);
    this.#spend(database, given, removed.length);
    const setMicros = clock.nowMicros();
    const rows: EnvRow[] = [];
    for (const { name, text, isSecret } of given) {
      const version = this.#nextVersion(before, setMicros);
      const value = isSecret
        ? { sealed: await keys.seal(text, { database, name, version }, this.#lostKeysAt()) }
        : { plain: text };
      rows.push({ name, version, value, setBy: by, setMicros });
    }
    return rows;
  }

  /**
   * A number above those of all keys that may be lost: one of them can be put back, beside a new
   * one, only if their files have different names. Minutes are more than anyone rotates keys.
   */
  #lostKeysAt(): number {
    const { keys, clock } = this.#options;
    if (keys.current !== undefined) return 0;
    const isSealed = ({ value }: EnvRow) => 'sealed' in value;
    const wereSome = [...this.databases].some((database) => {
      const staged = this.stagedOf(database)?.rows ?? [];
      return [...this.#rows.of(database), ...staged].some(isSealed);
    });
    return wereSome ? Number(clock.nowMicros() / microsOfMinute) : 0;
  }

  get #rows() {
    return this.#options.registry.env;
  }

  /** What the registry knows of a database is gone. */
  forget(database: DatabaseIdentity): void {
    this.#plain.delete(database);
    this.#replaced.delete(database);
    this.#allowances.delete(database);
  }

  /** Another host of the cluster has changed the registry: who follows reads what is set now. */
  async copied(): Promise<void> {
    for (const database of this.databases) this.#seen.set(database, this.#seen.get(database) ?? '');
    for (const [database, before] of [...this.#seen]) {
      const staged = this.stagedOf(database);
      const rows = [...this.#rows.of(database), ...(staged?.rows ?? [])];
      const seals = rows.map(({ value }) => ('sealed' in value ? value.sealed.by : ''));
      const shown = rows.map(({ name, version }, at) => `${name} ${version} ${seals[at]}`);
      const now = [staged?.program, staged?.generation, ...shown].join();
      if (now === before) continue;
      if (rows.length === 0) this.#seen.delete(database);
      else this.#seen.set(database, now);
      this.#plain.delete(database);
      await this.announce(database);
    }
  }

  /**
   * Looks at all secrets after the keys were read: encrypts those of an old key with the current
   * one, and reports those whose key is missing.
   */
  async useKeys(): Promise<void> {
    const { registry, keys, report } = this.#options;
    for (const fault of keys.faults) report({ level: 'error', message: fault });
    let resealed = 0;
    for (const database of this.databases) {
      resealed += await registry.exclusively(() => this.#reseal(database));
      this.#plain.delete(database);
      await this.announce(database);
      const lost = this.#rows.of(database).filter((row) => !this.isReadable(row));
      if (lost.length === 0) continue;
      const names = lost.map(({ name }) => name).join(', ');
      const message = `Secrets of a database cannot be read, as their key is missing: ${names}`;
      report({ level: 'error', message, about: { database: identityToHex(database) } });
    }
    if (resealed === 0) return;
    const message = `Secrets were encrypted again with the current key: ${resealed}`;
    report({ level: 'info', message });
  }

  async #reseal(database: DatabaseIdentity): Promise<number> {
    const live = await this.#resealed(database, this.#rows.of(database));
    if (live.length > 0) await this.#rows.reseal(database, live);
    const staged = this.#rows.stagedOf(database);
    if (staged === undefined) return live.length;
    const rows = await this.#resealed(database, staged.rows);
    if (rows.length === 0) return live.length;
    const others = staged.rows.filter(({ name }) => !rows.some((row) => row.name === name));
    await this.#rows.stage(database, { ...staged, rows: [...others, ...rows] });
    return live.length + rows.length;
  }

  /** Those of the rows that an old key encrypted, encrypted with the current one. */
  async #resealed(database: DatabaseIdentity, rows: readonly EnvRow[]): Promise<EnvRow[]> {
    const { keys } = this.#options;
    const { current } = keys;
    const added: EnvRow[] = [];
    for (const row of rows) {
      const { name, version, value } = row;
      if (!('sealed' in value) || value.sealed.by === current) continue;
      const about = { database, name, version };
      const text = await keys.open(value.sealed, about);
      if (text === undefined) continue;
      added.push({ ...row, value: { sealed: await keys.seal(text, about) } });
    }
    return added;
  }

  #reportDamage(database: DatabaseIdentity, name: string): void {
    const message = `A secret of a database is damaged, or was moved: ${name}. Set it again`;
    this.#options.report({ level: 'error', message, about: { database: identityToHex(database) } });
  }

  #nextVersion(rows: readonly EnvRow[], micros: bigint): bigint {
    const known = rows.map(({ version }) => version);
    for (const least of [micros, this.#lastVersion + 1n, ...known.map((one) => one + 1n)]) {
      if (least > this.#lastVersion) this.#lastVersion = least;
    }
    return this.#lastVersion;
  }

  /** Throws `Refusal` `quota.exceeded` while the last changes were too large. */
  #spend(database: DatabaseIdentity, given: readonly GivenEnv[], removedCount: number): void {
    const { envBytesAtOnceMax: atOnce, envBytesPerSecond: perSecond, envChangeBytes } = limits;
    const nowMillis = this.#options.clock.monotonicMillis();
    const bounds = { perSecond, atOnce };
    const allowance = this.#allowances.get(database) ?? new Allowance(bounds, nowMillis);
    this.#allowances.set(database, allowance);
    const seconds = Math.ceil(allowance.spend(0, nowMillis));
    if (seconds > 0) {
      const text = 'Quota exceeded: the values of this database change too often';
      const message = `${text}. Try again in ${seconds} s`;
      throw new Refusal({ code: 'quota.exceeded', message, retryAfterSeconds: seconds });
    }
    const bytes = given.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    allowance.spend(bytes + envChangeBytes * (given.length + removedCount), nowMillis);
  }

  #check(before: readonly EnvRow[], given: readonly GivenEnv[], removed: readonly string[]): void {
    const { envNamesMax, envValueBytesMax } = limits;
    for (const { name, text } of given) {
      const fault = envNameFault(name);
      if (fault !== undefined) throw refusal('env.invalid', fault);
      const bytes = Buffer.byteLength(text);
      if (bytes > envValueBytesMax) {
        const most = `more than ${envValueBytesMax}`;
        throw refusal('env.invalid', `the value of \`${name}\` has ${bytes} bytes, ${most}`);
      }
    }
    const names = new Set([...before, ...given].map(({ name }) => name));
    for (const name of removed) names.delete(name);
    if (names.size <= envNamesMax) return;
    const text = `a database has at most ${envNamesMax} values, and this would be ${names.size}`;
    throw refusal('env.invalid', text);
  }
}

const microsOfMinute = 60_000_000n;

/** What the program of a publish reads, ascending by name. */
function merged(live: readonly EnvRow[], { rows }: StagedEnv): readonly EnvRow[] {
  const byName = new Map([...live, ...rows].map((row) => [row.name, row]));
  return [...byName.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}
