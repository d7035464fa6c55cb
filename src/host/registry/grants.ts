import type { Capability } from '../../auth/capability.ts';
import { capabilityToClaim } from '../../auth/capability.ts';
import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import type { Role } from '../../database/rights.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { Access } from './access.ts';
import type { AuditAction, AuditLog, AuditNote } from './audit-log.ts';
import type { DatabaseRecord } from './database-record.ts';
import type { HostCaller } from './host-caller.ts';
import { Listeners } from './listeners.ts';
import type { Registry } from './registry.ts';
import type { Grant, IssuedToken, Loss } from './registry-rows.ts';

export interface GrantsOptions {
  readonly registry: Registry;
  readonly access: Access;
  readonly audit: AuditLog;
  readonly clock: Clock;
}

/** A limited token that its maker is about to hand out. */
export interface TokenToIssue {
  /** The `jti` of the token. */
  readonly id: string;
  readonly capability: Capability;
  /** Seconds since the Unix epoch; `undefined`: it does not expire. */
  readonly expiresAt: number | undefined;
}

export type { Loss } from './registry-rows.ts';

/** Manages what the owner of a database gives to others: roles, and limited tokens. */
export class Grants {
  readonly #options: GrantsOptions;
  readonly #losses = new Listeners<Loss>();

  constructor(options: GrantsOptions) {
    this.#options = options;
    options.registry.onLoss((loss) => this.#losses.tell(loss));
  }

  /**
   * Calls `listener` after each change that takes rights away, until the returned function is
   * called.
   */
  onLoss(listener: (loss: Loss) => void): () => void {
    return this.#losses.add(listener);
  }

  /** In the order of granting. */
  list(caller: HostCaller, database: DatabaseRecord): readonly Grant[] {
    const { access, registry } = this.#options;
    access.require(caller, database, 'viewGrants');
    return registry.grantsOf(database.identity);
  }

  /** Gives an identity a role, in place of the one that it had. */
  grant(
    caller: HostCaller,
    database: DatabaseRecord,
    identity: CallerIdentity,
    role: Role,
  ): Promise<void> {
    const { access, registry, clock } = this.#options;
    return registry.exclusively(async () => {
      const before = registry.roleOf(database.identity, identity);
      const concernsAdmin = role === 'admin' || before === 'admin';
      access.require(caller, database, concernsAdmin ? 'grantAdmin' : 'grant');
      const isNew = before === undefined;
      if (isNew && registry.grantsOf(database.identity).length >= limits.databaseGrantsMax) {
        throw tooMany(`A database has at most ${limits.databaseGrantsMax} grants`);
      }
      await registry.putGrant({
        database: database.identity,
        identity,
        role,
        grantedBy: caller.identity,
        grantedMicros: clock.nowMicros(),
      });
      this.#losses.tell({ kind: 'role', database: database.identity, identity });
      const detail = { to: identityToHex(identity), role };
      await this.#note({ action: 'grant role', caller, database: database.identity, detail });
    });
  }

  /** Takes the role away; anyone can give up their own. Does nothing if there is no role. */
  revoke(caller: HostCaller, database: DatabaseRecord, identity: CallerIdentity): Promise<void> {
    const { access, registry } = this.#options;
    return registry.exclusively(async () => {
      const role = registry.roleOf(database.identity, identity);
      const isOwn = identity === caller.identity && caller.capability === undefined;
      if (!isOwn) access.require(caller, database, role === 'admin' ? 'grantAdmin' : 'grant');
      if (role === undefined) return;
      await registry.removeGrant(database.identity, identity);
      this.#losses.tell({ kind: 'role', database: database.identity, identity });
      const detail = { of: identityToHex(identity), role };
      await this.#note({ action: 'revoke role', caller, database: database.identity, detail });
    });
  }

  /** Limited tokens that are still valid, in the order of issuing. */
  tokens(caller: HostCaller, database: DatabaseRecord): readonly IssuedToken[] {
    this.#options.access.require(caller, database, 'viewTokens');
    return this.#tokensOf(database);
  }

  /** Notes a token before it is handed out, so that it can be listed and revoked. */
  noteToken(caller: HostCaller, database: DatabaseRecord, token: TokenToIssue): Promise<void> {
    const { access, registry, clock } = this.#options;
    const { id, capability, expiresAt } = token;
    return registry.exclusively(async () => {
      access.require(caller, database, 'createToken');
      if (this.#tokensOf(database).length >= limits.databaseTokensMax) {
        throw tooMany(`A database has at most ${limits.databaseTokensMax} tokens; revoke some`);
      }
      await registry.putIssuedToken({
        id,
        database: database.identity,
        issuedBy: caller.identity,
        capability: JSON.stringify(capabilityToClaim(capability)),
        issuedMicros: clock.nowMicros(),
        untilMicros: micros(expiresAt),
      });
      const detail = { token_id: id };
      await this.#note({ action: 'create token', caller, database: database.identity, detail });
    });
  }

  /** Revokes the token: from now on it is rejected. Throws `Refusal` `token.unknown`. */
  revokeToken(caller: HostCaller, database: DatabaseRecord, id: string): Promise<void> {
    const { access, registry } = this.#options;
    return registry.exclusively(async () => {
      access.require(caller, database, 'createToken');
      const token = registry.issuedTokensOf(database.identity).find((one) => one.id === id);
      if (token === undefined) {
        throw new Refusal({ code: 'token.unknown', message: `No such token: ${id}` });
      }
      await this.#revoke(id, token.untilMicros, caller.identity);
      const detail = { token_id: id };
      await this.#note({ action: 'revoke token', caller, database: database.identity, detail });
    });
  }

  /** Gives up a token for its bearer. `expiresAt` in seconds since the Unix epoch. */
  giveUpToken(caller: HostCaller, id: string, expiresAt: number | undefined): Promise<void> {
    const { registry } = this.#options;
    return registry.exclusively(async () => {
      // Anyone can have any number of tokens: without a bound they could fill the disk.
      if (registry.revokedTokenCount >= limits.revokedTokensMax) {
        throw tooMany('Too many tokens were given up on this host; ask its operator');
      }
      await this.#revoke(id, micros(expiresAt), caller.identity);
      await this.#note({ action: 'give up token', caller, detail: { token_id: id } });
    });
  }

  isRevoked(tokenId: string): boolean {
    return this.#options.registry.isRevoked(tokenId);
  }

  /** When a limited token expires, in microseconds since the Unix epoch; `undefined`: never. */
  expiryOf(tokenId: string): bigint | undefined {
    const until = this.#options.registry.issuedToken(tokenId)?.untilMicros ?? 0n;
    return until === 0n ? undefined : until;
  }

  /** When a limited token or a session ends, as `expiryOf`. */
  endOf({ capability, session }: HostCaller, tokenId: string): bigint | undefined {
    if (session !== undefined) return micros(session.expiresAt);
    return capability === undefined ? undefined : this.expiryOf(tokenId);
  }

  /**
   * Calls `end` once the caller's token has expired, if it is limited or that of a session. Returns
   * a way to cancel.
   */
  whenExpired(caller: HostCaller, tokenId: string, end: () => void): () => void {
    const until = this.endOf(caller, tokenId);
    if (until === undefined) return () => undefined;
    const millis = Number((until - this.#options.clock.nowMicros()) / 1_000n);
    const timer = setTimeout(end, Math.min(millis, timerMillisMax)).unref();
    return () => clearTimeout(timer);
  }

  #tokensOf({ identity }: DatabaseRecord): readonly IssuedToken[] {
    const { registry, clock } = this.#options;
    const now = clock.nowMicros();
    const issued = registry.issuedTokensOf(identity);
    return issued.filter(({ untilMicros }) => untilMicros === 0n || untilMicros > now);
  }

  #note(note: Omit<AuditNote, 'outcome'> & { action: AuditAction }): Promise<void> {
    return this.#options.audit.note({ ...note, outcome: 'done' });
  }

  async #revoke(id: string, untilMicros: bigint, revokedBy: CallerIdentity): Promise<void> {
    const { registry, clock } = this.#options;
    const revokedMicros = clock.nowMicros();
    await registry.revokeToken({ id, untilMicros, revokedBy, revokedMicros });
    this.#losses.tell({ kind: 'token', id });
  }
}

/** The longest delay of a timer. */
const timerMillisMax = 2 ** 31 - 1;

function micros(seconds: number | undefined): bigint {
  return seconds === undefined ? 0n : BigInt(seconds) * 1_000_000n;
}

function tooMany(message: string): Refusal {
  return new Refusal({ code: 'grants.tooMany', message });
}
