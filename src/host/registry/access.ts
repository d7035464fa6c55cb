import type { Capability } from '../../auth/capability.ts';
import { Refusal } from '../../database/outcome.ts';
import {
  narrowed,
  ownerRights,
  type Rights,
  type Role,
  rightsOfRole,
  roles,
  strangerRights,
} from '../../database/rights.ts';
import type { TokenFeature } from '../../protocol/agent-features.ts';
import { identityToHex } from '../../values/identity.ts';
import { type CallerIdentity, owns } from '../../values/identity-roles.ts';
import type { AuditLog } from './audit-log.ts';
import type { DatabaseRecord } from './database-record.ts';
import type { HostCaller } from './host-caller.ts';
import type { Registry } from './registry.ts';

/** Who can create databases; updates always need the owner. */
export type Creators =
  | 'anyone'
  /** Callers who present a token. */
  | 'authenticated'
  | { readonly identities: readonly bigint[] }
  /** Callers whose token comes from one of these issuers. */
  | { readonly issuers: readonly string[] };

/** The caller's standing in one database. An operator of the host has the owner's rights. */
export type Standing = 'stranger' | Role | 'owner' | 'operator';

const owners: readonly Standing[] = ['owner', 'operator'];
const admins: readonly Standing[] = ['admin', ...owners];
const developers: readonly Standing[] = ['developer', ...admins];
const readers: readonly Standing[] = ['reader', ...developers];

/** Restricted actions on a database: who can take them, and the words of the refusal. */
export const actions = {
  update: { text: 'update database', allowed: developers },
  reset: { text: 'reset database', allowed: admins },
  delete: { text: 'delete database', allowed: owners },
  lock: { text: 'delete database', allowed: admins },
  rename: { text: 'rename database', allowed: admins },
  viewLogs: { text: 'view module logs', allowed: developers },
  viewHealth: { text: 'view health', allowed: developers },
  viewSchedules: { text: 'view schedules', allowed: developers },
  controlSchedules: { text: 'control schedules', allowed: developers },
  viewHistory: { text: 'view history', allowed: readers },
  exportRows: { text: 'view history', allowed: readers },
  importRows: { text: 'import rows', allowed: admins },
  maintain: { text: 'maintain database', allowed: admins },
  changeHistory: { text: 'change history settings', allowed: owners },
  backUp: { text: 'back up database', allowed: admins },
  restore: { text: 'restore database', allowed: owners },
  viewEnv: { text: 'view env', allowed: developers },
  setEnv: { text: 'set env', allowed: admins },
  previewAs: { text: 'preview as another identity', allowed: owners },
  viewConnections: { text: 'view connections', allowed: owners },
  disconnectClients: { text: 'disconnect clients', allowed: owners },
  viewWatches: { text: 'view watches', allowed: owners },
  viewMetrics: { text: 'view metrics', allowed: developers },
  viewLedger: { text: 'view ledger', allowed: owners },
  viewSource: { text: 'view source', allowed: developers },
  viewDeploys: { text: 'view deploys', allowed: developers },
  viewQuota: { text: 'view quotas', allowed: admins },
  viewGrants: { text: 'view grants', allowed: admins },
  grant: { text: 'grant roles', allowed: admins },
  grantAdmin: { text: 'grant the role admin', allowed: owners },
  createToken: { text: 'create tokens', allowed: admins },
  viewTokens: { text: 'create tokens', allowed: admins },
} as const satisfies Record<string, { text: string; allowed: readonly Standing[] }>;

/** Actions that change nothing. */
const readingActions: readonly DatabaseAction[] = [
  'viewLogs',
  'viewHealth',
  'viewSchedules',
  'viewHistory',
  'exportRows',
  'viewEnv',
  'previewAs',
  'viewMetrics',
  'viewConnections',
  'viewWatches',
  'viewLedger',
  'viewSource',
  'viewDeploys',
  'viewQuota',
  'viewGrants',
  'viewTokens',
];

export type DatabaseAction = keyof typeof actions;

export interface AccessOptions {
  readonly registry: Registry;
  readonly creators: Creators;
  /** Identities that have the owner's rights on every database. */
  readonly operators: readonly CallerIdentity[];
  readonly audit: AuditLog;
}

/** Decides who can do what; nothing else does, for any door. */
export class Access {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Throws `Refusal` `caller.notAuthorized` unless the caller can take the action. */
  require(caller: HostCaller, database: DatabaseKey, action: DatabaseAction): void {
    if (this.allows(caller, database, action)) return;
    const { text } = actions[action];
    void this.#options.audit.note({
      action: text,
      caller,
      database: database.identity,
      outcome: 'refused',
    });
    const who = identityToHex(caller.identity);
    const what = `perform action on database ${identityToHex(database.identity)}: ${text}`;
    const message = `${who} is not authorized to ${what}`;
    throw new Refusal({ code: 'caller.notAuthorized', message });
  }

  allows(caller: HostCaller, database: DatabaseKey, action: DatabaseAction): boolean {
    const { identity, capability, isReadOnly } = caller;
    if (capability !== undefined && !isFor(capability, database, action)) return false;
    if (isReadOnly === true && !readingActions.includes(action)) return false;
    const allowed: readonly Standing[] = actions[action].allowed;
    return allowed.includes(this.standing(capability?.by ?? identity, database));
  }

  /** Throws `Refusal` `caller.notOperator` unless they are one; the audit log has `action`. */
  requireOperator(caller: HostCaller, action: string): void {
    if (this.isOperator(caller)) return;
    void this.#options.audit.note({ action, caller, outcome: 'refused' });
    const message = `${identityToHex(caller.identity)} is not an operator of this host`;
    throw new Refusal({ code: 'caller.notOperator', message });
  }

  /** Throws `Refusal` `creation.forbidden` unless the operator lets the caller create databases. */
  requireCreator(caller: HostCaller): void {
    const fault = this.#creatorFault(caller);
    if (fault === undefined) return;
    void this.#options.audit.note({ action: 'create database', caller, outcome: 'refused' });
    throw new Refusal({ code: 'creation.forbidden', message: fault });
  }

  #creatorFault(caller: HostCaller): string | undefined {
    const { identity, isAnonymous, capability, payload, isReadOnly } = caller;
    const { creators, operators } = this.#options;
    if (isReadOnly === true) return 'A read-only session cannot create databases.';
    if (capability !== undefined) return 'A limited token cannot create databases.';
    if (creators === 'anyone' || operators.includes(identity)) return undefined;
    if (creators === 'authenticated') {
      return isAnonymous ? 'To create a database, you must be logged in.' : undefined;
    }
    if ('identities' in creators) {
      if (creators.identities.includes(identity)) return undefined;
      return 'To create a database, you need an identity that the operator has admitted.';
    }
    if (creators.issuers.includes(issuerIn(payload))) return undefined;
    const issuers = creators.issuers.join(' or ');
    return `To create a database, you must be logged in with an account of ${issuers}.`;
  }

  /**
   * Throws `Refusal` `token.limited` if the caller's token, or its session, leaves it no call of
   * this handler. Handlers write, so a limited token has to list them, as it lists reducers.
   */
  requireHandler(caller: HostCaller, database: DatabaseKey, handler: string): void {
    const { capability } = caller;
    if (capability === undefined && caller.isReadOnly !== true) return;
    const { isReadOnly, writesByPreview = false } = this.rightsIn(database, caller);
    const isListed = capability?.reducers?.includes(handler) === true;
    if (isListed && !isReadOnly && !capability.readOnly && !writesByPreview) return;
    const demand = writesByPreview
      ? `that writes by preview cannot call the handler \`${handler}\``
      : `must list the handler \`${handler}\` among its reducers and not be read-only`;
    throw new Refusal({ code: 'token.limited', message: `A limited token ${demand}` });
  }

  /** The caller's rights inside the database. */
  rightsIn(database: DatabaseKey, caller: HostCaller): Rights {
    const rights = this.#narrowedRights(database, caller);
    return caller.isReadOnly === true ? { ...rights, isReadOnly: true } : rights;
  }

  #narrowedRights(database: DatabaseKey, { identity, capability }: HostCaller): Rights {
    if (capability === undefined) return this.#rightsOf(identity, database);
    if (capability.database !== database.identity) {
      const message = `This token is for the database ${identityToHex(capability.database)} alone`;
      throw new Refusal({ code: 'token.limited', message });
    }
    return narrowed(this.#rightsOf(capability.by, database), {
      ...capability,
      previews: hasFeature(capability, 'preview'),
      isReadOnly: hasFeature(capability, 'read-only'),
      writesByPreview: hasFeature(capability, 'write-by-preview'),
    });
  }

  /**
   * Whether the caller has lost any of these rights, which it had before. Rights of a limited token
   * count as lost whenever they differ.
   */
  hasLost(caller: HostCaller, database: DatabaseKey, before: Rights): boolean {
    const now = this.rightsIn(database, caller);
    if (caller.capability !== undefined) return now.key !== before.key;
    return byPower.indexOf(now.key) < byPower.indexOf(before.key);
  }

  standing(identity: CallerIdentity, database: DatabaseKey): Standing {
    const { registry, operators } = this.#options;
    if (owns(identity, database.owner)) return 'owner';
    if (operators.includes(identity)) return 'operator';
    return registry.roleOf(database.identity, identity) ?? 'stranger';
  }

  isOperator({ identity, capability }: Pick<HostCaller, 'identity' | 'capability'>): boolean {
    return capability === undefined && this.#options.operators.includes(identity);
  }

  #rightsOf(identity: CallerIdentity, database: DatabaseKey): Rights {
    const standing = this.standing(identity, database);
    switch (standing) {
      case 'owner':
      case 'operator':
        return ownerRights;
      case 'stranger':
        return strangerRights;
      default:
        return rightsOfRole(standing);
    }
  }
}

/**
 * A limited token allows no action but reading logs, the source and rows, if its maker included
 * that.
 */
function isFor(capability: Capability, database: DatabaseKey, action: DatabaseAction): boolean {
  const isHere = capability.database === database.identity;
  if (!isHere) return false;
  if (action === 'exportRows') return hasFeature(capability, 'export');
  if (action === 'viewSource') return hasFeature(capability, 'source');
  return action === 'viewLogs' && hasFeature(capability, 'logs');
}

function hasFeature({ features = [] }: Capability, feature: TokenFeature): boolean {
  return features.includes(feature);
}

/** Keys of rights, weakest first; each includes the rights before it. */
const byPower = [strangerRights, ...roles.map(rightsOfRole)].map(({ key }) => key);

/** The payload was read when the token was checked. */
function issuerIn(payload: string): string {
  return String((JSON.parse(payload) as { iss?: unknown }).iss);
}

type DatabaseKey = Pick<DatabaseRecord, 'identity' | 'owner'>;
