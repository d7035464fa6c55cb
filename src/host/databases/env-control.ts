import { Refusal, refusal } from '../../database/outcome.ts';
import type { EnvDefinition } from '../../schema/definition.ts';
import { valueFault } from '../../schema/env-faults.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import { nearestNames } from '../../values/nearest-names.ts';
import type { Access } from '../registry/access.ts';
import type { AuditAction, AuditLog } from '../registry/audit-log.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { EnvRow } from '../registry/env-row.ts';
import type { EnvStore } from '../registry/env-store.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { Registry } from '../registry/registry.ts';
import { noSuchDatabase } from '../registry/resolve-target.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { ignoreRefusal, type StagedValues } from './staged-values.ts';

export interface EnvControlOptions {
  readonly registry: Registry;
  readonly access: Access;
  readonly audit: AuditLog;
  readonly env: EnvStore;
  readonly staged: Pick<StagedValues, 'settle'>;
}

type EnvTarget = DatabaseRecord & { readonly handle: DatabaseHandle };

/** A value of the configuration as it is shown: a secret without its text. */
export interface ListedEnv {
  readonly name: string;
  readonly isSecret: boolean;
  /** Only of a plain value. */
  readonly text: string | undefined;
  /** False: the key of the secret is missing, or it is damaged. */
  readonly isReadable: boolean;
  readonly setBy: CallerIdentity;
  /** Microseconds since the Unix epoch. */
  readonly setMicros: bigint;
}

/** Shows, sets and unsets the configuration of databases. */
export class EnvControl {
  readonly #options: EnvControlOptions;

  constructor(options: EnvControlOptions) {
    this.#options = options;
  }

  /** How many values are encrypted with a key, by its fingerprint. */
  countSealedBy(fingerprint: string): number {
    return this.#options.env.countSealedBy(fingerprint);
  }

  /** What the running program reads, ascending by name. */
  async list(by: HostCaller, database: EnvTarget): Promise<readonly ListedEnv[]> {
    const { access, env } = this.#options;
    access.require(by, database, 'viewEnv');
    await this.#settle(database);
    const rows = (await this.#reader(database))();
    return rows.map((row) => listed(row, env.isReadable(row)));
  }

  /** What the running program declares, in its order; nothing, where none runs. */
  async declared(by: HostCaller, database: EnvTarget): Promise<readonly EnvDefinition[]> {
    this.#options.access.require(by, database, 'viewEnv');
    return declaredEnv(database.handle);
  }

  /** Throws `Refusal` `env.unknown`. */
  async get(by: HostCaller, database: EnvTarget, name: string): Promise<ListedEnv> {
    const found = (await this.list(by, database)).find((one) => one.name === name);
    if (found === undefined) throw unknownEnv(name);
    return found;
  }

  /**
   * Sets a value. Where `isSecret` is absent, it is what the running program declares it as, else
   * what it was. It counts as later than the values of a publish that is under way. Throws
   * `Refusal` `env.invalid`.
   */
  async set(
    by: HostCaller,
    database: EnvTarget,
    given: {
      readonly name: string;
      readonly text: string;
      readonly isSecret?: boolean | undefined;
    },
  ): Promise<ListedEnv & { readonly hint?: string | undefined }> {
    const { access, env } = this.#options;
    access.require(by, database, 'setEnv');
    const { name, text } = given;
    const { identity } = database;
    await this.#settle(database);
    const rows = await this.#reader(database);
    const all = await declaredEnv(database.handle);
    const declared = all.find((one) => one.name === name);
    await this.#exclusively(database, async () => {
      const before = rows().find((one) => one.name === name);
      const isSecret = given.isSecret ?? declared?.isSecret ?? isSecretRow(before) ?? false;
      if (declared !== undefined) requireFit(declared, { name, text, isSecret });
      await env.change(identity, { given: [{ name, text, isSecret }], by: by.identity });
      await this.#note('set env', by, database, { name, secret: isSecret });
    });
    await env.announce(identity);
    const listed = await this.get(by, database, name);
    return declared === undefined ? { ...listed, hint: undeclaredText(name, all) } : listed;
  }

  /** Throws `Refusal` `env.unknown`, or `env.needed` where the running program declares it. */
  async unset(by: HostCaller, database: EnvTarget, name: string): Promise<void> {
    const { access, env } = this.#options;
    access.require(by, database, 'setEnv');
    const { identity } = database;
    await this.#settle(database);
    const rows = await this.#reader(database);
    const declared = (await declaredEnv(database.handle)).find((one) => one.name === name);
    await this.#exclusively(database, async () => {
      if (!rows().some((one) => one.name === name)) throw unknownEnv(name);
      if (declared?.isOptional === false) throw refusal('env.needed', neededText(name));
      await env.change(identity, { removed: [name], by: by.identity });
      await this.#note('unset env', by, database, { name });
    });
    await env.announce(identity);
  }

  /** Where it cannot be known whether a publish has happened, its program decides what is read. */
  #settle({ identity }: EnvTarget): Promise<void> {
    return ignoreRefusal(this.#options.staged.settle(identity));
  }

  /** Reads the values as the running program does. Nothing is opened unless that is in question. */
  async #reader({ identity, handle }: EnvTarget): Promise<() => readonly EnvRow[]> {
    const { registry, env } = this.#options;
    if (env.stagedOf(identity) === undefined) return () => env.rows(identity);
    const program = await runningProgram(handle);
    return () => {
      const generation = registry.database(identity)?.generation;
      if (generation === undefined || program === undefined) return env.rows(identity);
      return env.rows(identity, { generation, program });
    };
  }

  /** Runs while no other change does, and the database is still registered. */
  #exclusively(database: DatabaseRecord, work: () => Promise<void>): Promise<void> {
    const { registry } = this.#options;
    return registry.exclusively(async () => {
      if (registry.database(database.identity) === undefined) throw noSuchDatabase();
      await work();
    });
  }

  #note(
    action: AuditAction,
    caller: HostCaller,
    { identity: database }: DatabaseRecord,
    detail: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    return this.#options.audit.note({ action, caller, database, outcome: 'done', detail });
  }
}

async function runningProgram(handle: DatabaseHandle): Promise<string | undefined> {
  try {
    return (await handle.describe()).programHash;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return undefined;
  }
}

/** A name that a program with others does not declare may be a slip. */
function undeclaredText(name: string, declared: readonly EnvDefinition[]): string | undefined {
  if (declared.length === 0) return undefined;
  const names = declared.map((one) => one.name);
  const [near] = nearestNames(name, names);
  const meant =
    near === undefined ? `it declares ${names.join(', ')}` : `did you mean \`${near}\`?`;
  return `the running program does not declare \`${name}\`, so nothing reads it; ${meant}`;
}

/** What the running program declares; nothing, where none runs. */
async function declaredEnv(handle: DatabaseHandle): Promise<readonly EnvDefinition[]> {
  try {
    return (await handle.describe()).definition.env;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [];
  }
}

function requireFit(
  declared: EnvDefinition,
  { name, text, isSecret }: { name: string; text: string; isSecret: boolean },
): void {
  if (declared.isSecret !== isSecret) {
    const [as, is] = isSecret ? ['plain value', 'a secret'] : ['secret', 'a plain value'];
    const message = `the running program declares \`${name}\` as a ${as}: it cannot be ${is}`;
    throw refusal('env.invalid', message);
  }
  const fault = valueFault(declared, isSecret, text);
  if (fault !== undefined) throw refusal('env.invalid', fault);
}

function listed(row: EnvRow, isReadable: boolean): ListedEnv {
  const { name, value, setBy, setMicros } = row;
  return {
    name,
    isSecret: isSecretRow(row) === true,
    text: 'plain' in value ? value.plain : undefined,
    isReadable,
    setBy,
    setMicros,
  };
}

function isSecretRow(row: EnvRow | undefined): boolean | undefined {
  return row && 'sealed' in row.value;
}

function unknownEnv(name: string): Refusal {
  return refusal('env.unknown', `\`${name}\` is not set`);
}

function neededText(name: string): string {
  const advice = 'set another value, or publish a program that does not declare it';
  return `the running program needs \`${name}\`: ${advice}`;
}
