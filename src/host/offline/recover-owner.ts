import { Refusal } from '../../database/outcome.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import { AuditLog } from '../registry/audit-log.ts';
import { DatabaseFiles } from '../registry/database-files.ts';
import { openRegistry, type RegistryOptions } from '../registry/open-registry.ts';
import type { Registry } from '../registry/registry.ts';
import { noSuchDatabaseText, resolveTarget } from '../registry/resolve-target.ts';

export interface RecoverOptions extends RegistryOptions {
  /** The data folder, whose lock the caller holds. */
  readonly directory: string;
  /** A database's name or identity. */
  readonly target: string;
  readonly owner: OwnerIdentity;
}

export type RecoverOutcome =
  | {
      readonly kind: 'recovered';
      readonly database: DatabaseIdentity;
      readonly formerOwner: OwnerIdentity;
    }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Gives a database to another owner while no host is open, with its names, so that the owner can go
 * on publishing and renaming. Roles stay as they are. Limited tokens of the former owner lose the
 * rights that came from the ownership. When this resolves, the change and its audit note are
 * durable.
 */
export async function recoverOwner(options: RecoverOptions): Promise<RecoverOutcome> {
  const { directory, clock, report } = options;
  const files = new DatabaseFiles(directory);
  const registry = await openRegistry(options, files);
  const lines = await files.openAuditLines();
  const audit = new AuditLog({ lines, clock, report });
  try {
    return await change(registry, audit, options);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { kind: 'refused', message: error.message };
  } finally {
    await registry.close();
    await audit.close();
  }
}

async function change(
  registry: Registry,
  audit: AuditLog,
  { target, owner }: RecoverOptions,
): Promise<RecoverOutcome> {
  const database = resolveTarget(registry, target);
  const formerOwner = registry.database(database)?.owner;
  if (formerOwner === undefined) return { kind: 'refused', message: noSuchDatabaseText };
  await registry.changeOwner(database, owner);
  const detail = { former_owner: identityToHex(formerOwner), owner: identityToHex(owner) };
  await audit.note({ action: 'recover owner', database, outcome: 'done', detail });
  return { kind: 'recovered', database, formerOwner };
}
