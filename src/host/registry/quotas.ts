import { networkOf } from '../../auth/client-address.ts';
import { Refusal } from '../../database/outcome.ts';
import { quotaText, type StorageLimits, type StorageUse } from '../../database/storage-quota.ts';
import { limits } from '../../limits.ts';
import { bytesText } from '../../values/bytes-text.ts';
import {
  asCaller,
  asOwner,
  type DatabaseIdentity,
  databaseIdentity,
  type OwnerIdentity,
} from '../../values/identity-roles.ts';
import type { Access } from './access.ts';
import type { AuditLog } from './audit-log.ts';
import type { DatabaseRecord } from './database-record.ts';
import type { HostCaller } from './host-caller.ts';
import {
  databaseQuotas,
  finite,
  type IdentityQuota,
  identityQuotas,
  type QuotaLimits,
  type QuotaName,
  type QuotaSubject,
  type QuotaUse,
} from './quota-limits.ts';
import type { Registry } from './registry.ts';
import type { RegisteredName } from './registry-rows.ts';

export interface QuotasOptions {
  readonly registry: Registry;
  readonly access: Access;
  readonly audit: AuditLog;
  /** The configured quotas. An operator can set other amounts for one identity, or one database. */
  readonly quotas?: QuotaLimits;
}

/** A database's sizes, if it was opened, and a way to set its limits. */
export interface Measured {
  readonly used: StorageUse;
  /** Opens it, if it is closed. */
  open(): void;
  setStorage(limits: StorageLimits): void;
}

/** Bytes of static files of a database. */
export interface StaticUse {
  /** What it serves, as it was uploaded. */
  readonly served: number;
  /** All that is kept for it. */
  readonly kept: number;
}

/** The checks of one database's static files; see `SiteQuota` in `sites`. */
export interface StaticQuota {
  requireSet(bytes: number): void;
  requireMore(bytes: number): void;
}

/**
 * Enforces how much identities, addresses and databases can have. Creations are counted here,
 * before any work is done; the contents of a database are counted by its actor, which receives its
 * limits. What the databases of one owner hold together is summed from the actors' reports, so the
 * limit can be exceeded by what is added between two reports.
 */
export class Quotas {
  readonly #options: QuotasOptions;
  readonly #measured: (database: DatabaseIdentity) => Measured | undefined;
  readonly #staticOf: (database: DatabaseIdentity) => StaticUse;
  /** Databases that are being created: there can be many at once. */
  readonly #reserved = new Map<string, number>();
  /** Owners whose sum must be computed again, all at once. */
  readonly #changedOwners = new Set<OwnerIdentity>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    options: QuotasOptions,
    measured: (database: DatabaseIdentity) => Measured | undefined,
    staticOf: (database: DatabaseIdentity) => StaticUse = () => ({ served: 0, kept: 0 }),
  ) {
    this.#options = options;
    this.#measured = measured;
    this.#staticOf = staticOf;
  }

  /** Throws `Refusal` `databases.tooMany` when the caller can create no more databases. */
  requireDatabase(caller: HostCaller): void {
    const { access } = this.#options;
    if (access.isOperator(caller)) return;
    for (const { name, used, limit } of this.#databaseUses(caller)) {
      if (limit === undefined || used < limit) continue;
      void this.#noteRefusal(caller, name);
      const whose = name === 'databases-per-address' ? 'your address' : 'your identity';
      const has = `${whose} has ${used} databases`;
      const message = quotaText(has, `${limit} (${name})`, 'Delete one');
      throw new Refusal({ code: 'databases.tooMany', message });
    }
  }

  /** `requireDatabase`, which also reserves the place until the returned function is called. */
  reserveDatabase(caller: HostCaller): () => void {
    this.requireDatabase(caller);
    const keys = [identityKey(caller), ...addressKey(caller)];
    for (const key of keys) this.#reserve(key, 1);
    return () => {
      for (const key of keys) this.#reserve(key, -1);
    };
  }

  /**
   * Throws `Refusal` `names.tooMany` when `owner` cannot have `count` more names. They are counted
   * apart from databases: a name stays when its database could not be created, or was deleted. The
   * caller must ensure that no other name is registered meanwhile.
   */
  requireNames(caller: HostCaller, owner: OwnerIdentity, count: number): void {
    if (count === 0 || this.#options.access.isOperator(caller) || this.#isOperator(owner)) return;
    for (const { name, used, limit } of this.#nameUses(caller, owner)) {
      if (limit === undefined || used + count <= limit) continue;
      void this.#noteRefusal(caller, name);
      const whose = name === 'names-per-address' ? 'your address' : 'the owner';
      const has = `${whose} has ${used} names of databases, including those of deleted ones`;
      const message = quotaText(has, `${limit} (${name})`, 'Use one of them');
      throw new Refusal({ code: 'names.tooMany', message });
    }
  }

  /** Throws `Refusal` `quota.exceeded` if a program is too large for its database, or its owner. */
  requireProgram(
    owner: OwnerIdentity,
    database: DatabaseIdentity | undefined,
    programBytes: number,
  ): void {
    const before = database === undefined ? 0 : (this.#useOf(database)?.programBytes ?? 0);
    const ofDatabase = this.limitOf('program-bytes', database);
    if (programBytes > ofDatabase) {
      throw tooLarge(`the program takes ${bytesText(programBytes)}`, ofDatabase, 'program-bytes');
    }
    if (programBytes <= before || this.#isOperator(owner)) return;
    const name = 'owner-program-bytes';
    const ofOwner = this.limitOf(name, owner);
    const all = this.#sumOf(owner).programBytes - before + programBytes;
    if (all <= ofOwner) return;
    throw tooLarge(`the programs of its owner would take ${bytesText(all)}`, ofOwner, name);
  }

  /**
   * Throws `Refusal` `quota.exceeded` if a restore must not add `moreBytes` to what a database has
   * on the disk, `hereBytes`: to its log, and to the logs of its owner.
   */
  requireLog(
    { identity, owner }: Pick<DatabaseRecord, 'identity' | 'owner'>,
    { hereBytes, moreBytes }: { readonly hereBytes: number; readonly moreBytes: number },
  ): void {
    const known = this.#useOf(identity)?.logBytes ?? 0;
    const here = Math.max(known, hereBytes);
    const more = `the restore would add ${bytesText(moreBytes)}`;
    const limit = this.limitOf('log-bytes', identity);
    if (here + moreBytes > limit) {
      const has = `the log of this database takes ${bytesText(here)}, with replaced ones; ${more}`;
      throw quotaExceeded(has, limit, { name: 'log-bytes', advice: restoreAdvice });
    }
    if (this.#isOperator(owner)) return;
    const name = 'owner-log-bytes';
    const ofOwner = this.limitOf(name, owner);
    const all = this.#sumOf(owner).logBytes - known + here;
    if (all + moreBytes <= ofOwner) return;
    const has = `the logs of all databases of their owner take ${bytesText(all)}; ${more}`;
    throw quotaExceeded(has, ofOwner, { name, advice: restoreAdvice });
  }

  /**
   * Checks what static files of a database take: a set by itself, and all that is kept for its
   * owner. What the database serves does not count towards the second, as the set replaces it.
   */
  ofSite(owner: OwnerIdentity, database: DatabaseIdentity): StaticQuota {
    const name = 'owner-static-bytes';
    const requireMore = (bytes: number): void => {
      if (this.#isOperator(owner)) return;
      const limit = this.limitOf(name, owner);
      const kept = this.#staticBytesOf(owner);
      if (kept - this.#staticOf(database).served + bytes <= limit) return;
      const has = `the static files of its owner take ${bytesText(kept)}, ${keptText}`;
      const more = `${bytesText(bytes)} more would come`;
      throw quotaExceeded(`${has}; ${more}`, limit, { name, advice: staticAdvice });
    };
    return {
      requireMore,
      requireSet: (bytes) => {
        const limit = this.limitOf('static-bytes', database);
        if (bytes > limit) {
          throw tooLarge(`the static files take ${bytesText(bytes)}`, limit, 'static-bytes');
        }
        if (bytes > this.#staticOf(database).served) requireMore(0);
      },
    };
  }

  /** The storage limits of a database's actor. */
  storageOf({ identity, owner }: Pick<DatabaseRecord, 'identity' | 'owner'>): StorageLimits {
    // The sum is of all databases of the owner, and each of them is asked when a service starts.
    const sum = this.isCounted(owner) ? this.#sumOf(owner) : noUse;
    return this.#storageOf({ identity, owner }, sum);
  }

  #storageOf(
    { identity, owner }: Pick<DatabaseRecord, 'identity' | 'owner'>,
    { rowBytes, logBytes }: StorageUse,
  ): StorageLimits {
    return {
      rowBytesMax: finite(this.limitOf('row-bytes', identity)),
      logBytesMax: finite(this.limitOf('log-bytes', identity)),
      ownerRowFault: this.#ownerFault(owner, 'owner-row-bytes', rowBytes),
      ownerLogFault: this.#ownerFault(owner, 'owner-log-bytes', logBytes),
    };
  }

  /** Notes that an actor reported its sizes: others of the same owner may get lower limits. */
  measured(database: DatabaseIdentity): void {
    const owner = this.#options.registry.database(database)?.owner;
    if (owner === undefined || !this.isCounted(owner)) return;
    this.#changedOwners.add(owner);
    this.#timer ??= setTimeout(() => this.#applyChanged(), limits.quotaSumMillis).unref();
  }

  /** Sends the current limits to all databases of an owner. */
  apply(owner: OwnerIdentity): void {
    const sum = this.#sumOf(owner);
    const isCounted = this.isCounted(owner);
    for (const record of this.#ownedBy(owner)) {
      const measured = this.#measured(record.identity);
      measured?.setStorage(this.#storageOf(record, sum));
      if (isCounted) measured?.open();
    }
  }

  /** True: what the databases of this owner hold together is limited, and must be known. */
  isCounted(owner: OwnerIdentity): boolean {
    if (this.#isOperator(owner)) return false;
    return summedQuotas.some((name) => this.limitOf(name, owner) < Number.POSITIVE_INFINITY);
  }

  /** The usage of an identity that owns databases, or may own some, and of all of them. */
  ofIdentity(owner: OwnerIdentity): QuotaUse[] {
    const { rowBytes, logBytes, programBytes } = this.#sumOf(owner);
    const used: Record<IdentityQuota, number> = {
      'databases-per-identity': this.#ownedBy(owner).length,
      'names-per-identity': this.#options.registry.nameCountOf(owner),
      'owner-row-bytes': rowBytes,
      'owner-log-bytes': logBytes,
      'owner-program-bytes': programBytes,
      'owner-static-bytes': this.#staticBytesOf(owner),
    };
    const isOperator = this.#isOperator(owner);
    return identityQuotas.map((name) => {
      const limit = isOperator ? undefined : finite(this.limitOf(name, owner));
      return { name, used: used[name], limit };
    });
  }

  ofDatabase({ identity }: Pick<DatabaseRecord, 'identity'>): QuotaUse[] {
    const { rowBytes = 0, logBytes = 0, programBytes = 0 } = this.#useOf(identity) ?? {};
    const used = {
      'row-bytes': rowBytes,
      'log-bytes': logBytes,
      'program-bytes': programBytes,
      'static-bytes': this.#staticOf(identity).served,
    };
    return databaseQuotas.map((name) => {
      return { name, used: used[name], limit: finite(this.limitOf(name, identity)) };
    });
  }

  /**
   * Sets a quota of an identity or a database: an amount, `null` for any amount, `undefined` for
   * the configured one. The caller has checked permission, and the names.
   */
  async set(
    caller: HostCaller,
    { subject, owner }: { readonly subject: QuotaSubject; readonly owner: OwnerIdentity },
    amounts: ReadonlyMap<QuotaName, number | null | undefined>,
  ): Promise<void> {
    const { registry, audit } = this.#options;
    await registry.exclusively(async () => {
      for (const [name, amount] of amounts) {
        if (amount === undefined) await registry.removeQuota(subject, name);
        else await registry.putQuota({ subject, name, amount: amount ?? undefined });
      }
    });
    this.apply(owner);
    // An owner's subject finds none.
    const database = registry.database(databaseIdentity(subject))?.identity;
    const about = database === undefined ? {} : { database };
    const detail = {
      identity: subject.toString(16).padStart(64, '0'),
      ...Object.fromEntries(amounts),
    };
    await audit.note({ action: 'set quota', caller, ...about, outcome: 'done', detail });
  }

  /** `Infinity`: any amount. */
  limitOf(name: QuotaName, subject: QuotaSubject | undefined): number {
    const set = subject === undefined ? undefined : this.#options.registry.quota(subject, name);
    if (set !== undefined) return set.amount ?? Number.POSITIVE_INFINITY;
    return this.#options.quotas?.[name] ?? Number.POSITIVE_INFINITY;
  }

  #applyChanged(): void {
    const owners = [...this.#changedOwners];
    this.#changedOwners.clear();
    this.#timer = undefined;
    for (const owner of owners) this.apply(owner);
  }

  #databaseUses(caller: HostCaller): QuotaUse[] {
    const { registry, quotas } = this.#options;
    const owner = asOwner(caller.identity);
    const uses: QuotaUse[] = [
      {
        name: 'databases-per-identity',
        used: this.#ownedBy(owner).length + this.#reservedFor(identityKey(caller)),
        limit: finite(this.limitOf('databases-per-identity', owner)),
      },
    ];
    const ofAddress = quotas?.['databases-per-address'];
    for (const key of ofAddress === undefined ? [] : addressKey(caller)) {
      const all = [...registry.databases];
      const here = all.filter(({ identity }) => registry.originOf(identity) === key).length;
      const used = here + this.#reservedFor(key);
      uses.push({ name: 'databases-per-address', used, limit: ofAddress });
    }
    return uses;
  }

  #nameUses(caller: HostCaller, owner: OwnerIdentity): QuotaUse[] {
    const { registry, quotas } = this.#options;
    const uses: QuotaUse[] = [
      {
        name: 'names-per-identity',
        used: registry.nameCountOf(owner),
        limit: finite(this.limitOf('names-per-identity', owner)),
      },
    ];
    const ofAddress = quotas?.['names-per-address'];
    for (const key of ofAddress === undefined ? [] : addressKey(caller)) {
      const isHere = ({ database }: RegisteredName) =>
        database !== undefined && registry.originOf(database) === key;
      const used = [...registry.names].filter(isHere).length;
      uses.push({ name: 'names-per-address', used, limit: ofAddress });
    }
    return uses;
  }

  #ownedBy(owner: OwnerIdentity): readonly DatabaseRecord[] {
    return this.#options.registry.ownedBy(owner);
  }

  #sumOf(owner: OwnerIdentity): StorageUse {
    const sum = { rowBytes: 0, logBytes: 0, programBytes: 0 };
    for (const { identity } of this.#ownedBy(owner)) {
      const used = this.#useOf(identity);
      sum.rowBytes += used?.rowBytes ?? 0;
      sum.logBytes += used?.logBytes ?? 0;
      sum.programBytes += used?.programBytes ?? 0;
    }
    return sum;
  }

  #staticBytesOf(owner: OwnerIdentity): number {
    const owned = this.#ownedBy(owner);
    return owned.reduce((sum, { identity }) => sum + this.#staticOf(identity).kept, 0);
  }

  #useOf(database: DatabaseIdentity): StorageUse | undefined {
    return this.#measured(database)?.used;
  }

  #ownerFault(owner: OwnerIdentity, name: QuotaName, used: number): string | undefined {
    const limit = this.limitOf(name, owner);
    if (used <= limit || this.#isOperator(owner)) return undefined;
    const what = name === 'owner-row-bytes' ? 'rows' : 'logs';
    const taken = `the ${what} of all databases of their owner take ${bytesText(used)}`;
    const advice = what === 'rows' ? 'Delete something' : logsAdvice;
    return quotaText(taken, `${bytesText(limit)} (${name})`, advice);
  }

  #isOperator(owner: OwnerIdentity): boolean {
    return this.#options.access.isOperator({ identity: asCaller(owner) });
  }

  #reserve(key: string, count: number): void {
    const left = this.#reservedFor(key) + count;
    if (left === 0) this.#reserved.delete(key);
    else this.#reserved.set(key, left);
  }

  #reservedFor(key: string): number {
    return this.#reserved.get(key) ?? 0;
  }

  #noteRefusal(caller: HostCaller, name: QuotaName): Promise<void> {
    const detail = { quota: name };
    const { audit } = this.#options;
    return audit.note({ action: 'create database', caller, outcome: 'refused', detail });
  }
}

const logsAdvice = 'Shorten histories with `reducerdb retention set`, delete something';

const restoreAdvice =
  'Delete replaced logs and old history with `reducerdb retention forget`, delete something';

/** Quotas on the sum of all databases of an owner. */
const summedQuotas = ['owner-row-bytes', 'owner-log-bytes', 'owner-program-bytes'] as const;

const noUse: StorageUse = { rowBytes: 0, logBytes: 0, programBytes: 0 };

function identityKey({ identity }: HostCaller): string {
  return `identity ${identity.toString(16)}`;
}

/** Empty for a caller in the same process. */
function addressKey({ address }: HostCaller): string[] {
  return address === undefined ? [] : [networkOf(address)];
}

function tooLarge(used: string, limit: number, name: QuotaName): Refusal {
  const advice = name === 'static-bytes' ? 'Publish less' : 'Publish a smaller one';
  return quotaExceeded(used, limit, { name, advice });
}

function quotaExceeded(
  used: string,
  limit: number,
  { name, advice }: { readonly name: QuotaName; readonly advice: string },
): Refusal {
  const message = quotaText(used, `${bytesText(limit)} (${name})`, advice);
  return new Refusal({ code: 'quota.exceeded', message });
}

const keptText = 'with compressed forms and what was uploaded or replaced lately';

/** By `limits.siteEarlierMillis` and `limits.siteAnnouncedMillis`. */
const staticAdvice =
  `Publish less, or wait until replaced files (${limits.siteEarlierMillis / 60_000} minutes) ` +
  `and unpublished ones (${limits.siteAnnouncedMillis / 60_000} minutes) are removed`;
