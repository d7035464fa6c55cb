import { Refusal } from '../../database/outcome.ts';
import { acceptLoss } from '../../log/accept-loss.ts';
import { DiskError } from '../../log/disk.ts';
import { LogDamageError } from '../../log/log-error.ts';
import { MachineDisk } from '../../node/disk.ts';
import { identityFromHex, identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { AuditLog } from '../registry/audit-log.ts';
import { DatabaseFiles } from '../registry/database-files.ts';
import { openRegistry, type RegistryOptions } from '../registry/open-registry.ts';
import { type Registry, registryIdentity } from '../registry/registry.ts';
import { resolveTarget } from '../registry/resolve-target.ts';

/** An operator's decision to accept a log as it is, although its end is missing. */
export interface AcceptedLoss {
  /** A database's name or identity, or the registry's; `undefined`: the only existing database. */
  readonly target: string | undefined;
  /** Offset of the last commit in the log. */
  readonly offset: number;
}

/** The loss was not accepted; nothing was changed. */
export class LossError extends Error {
  override readonly name = 'LossError';
}

export interface LossOptions extends RegistryOptions {
  /** The data folder, whose lock the caller holds. */
  readonly directory: string;
}

/**
 * Accepts logs that are rejected because their end is missing: each then ends where its records do.
 * No host may be open. The cut-off part is kept. Each loss is noted in the audit log, with what is
 * missing. Rejects with `LossError` at the first log that is not such a log, or ends elsewhere.
 */
export async function acceptLosses(
  losses: readonly AcceptedLoss[],
  options: LossOptions,
): Promise<void> {
  const { directory, clock, report } = options;
  const files = new DatabaseFiles(directory);
  const lines = await files.openAuditLines();
  const audit = new AuditLog({ lines, clock, report });
  try {
    // Without the registry, it is unknown which databases the other logs belong to.
    const isRegistry = ({ target }: AcceptedLoss) =>
      target !== undefined && identityFromHex(target) === registryIdentity;
    for (const { offset } of losses.filter(isRegistry)) {
      const place = { identity: registryIdentity, directory: files.registry ?? directory };
      await accept(place, offset, audit, options);
    }
    const others = losses.filter((loss) => !isRegistry(loss));
    if (others.length === 0) return;
    const registry = await openRegistry(options, files);
    try {
      for (const loss of others) {
        const place = placeOf(registry, files, loss);
        await accept(place, loss.offset, audit, options);
      }
    } finally {
      await registry.close();
    }
  } finally {
    await audit.close();
  }
}

/** The log of a database, or of the registry. */
export interface LogPlace {
  readonly identity: DatabaseIdentity;
  readonly directory: string;
}

/** Finds the log of a database. Throws `LossError` if there is none. */
export function placeOf(
  registry: Registry,
  files: DatabaseFiles,
  { target }: Pick<AcceptedLoss, 'target'>,
): LogPlace {
  const identity = target === undefined ? onlyDatabase(registry) : found(registry, target);
  const generation = registry.database(identity)?.generation;
  const directory = generation === undefined ? undefined : files.logDirectory(identity, generation);
  if (directory === undefined) throw new LossError(`There is no database ${target}`);
  return { identity, directory };
}

function onlyDatabase(registry: Registry): DatabaseIdentity {
  const [only, ...more] = registry.databases;
  if (only !== undefined && more.length === 0) return only.identity;
  throw new LossError('Say which database it is, as <database>:<offset>');
}

function found(registry: Registry, target: string): DatabaseIdentity {
  try {
    return resolveTarget(registry, target);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    throw new LossError(cause.message, { cause });
  }
}

/** Ends one log after `offset`, where its records end. Rejects with `LossError`. */
export async function accept(
  { identity, directory }: LogPlace,
  offset: number,
  audit: AuditLog,
  { report }: Pick<LossOptions, 'report'>,
): Promise<void> {
  const who =
    identity === registryIdentity ? 'The registry' : `Database ${identityToHex(identity)}`;
  const warn = (message: string) => report({ level: 'warn', message: `${who}: ${message}` });
  const options = { databaseIdentity: identity, offset, warn };
  const outcome = await acceptLoss(new MachineDisk(directory), options).catch((cause: unknown) => {
    if (!(cause instanceof LogDamageError || cause instanceof DiskError)) throw cause;
    throw new LossError(`${who}: ${cause.message}`, { cause });
  });
  if (outcome.kind === 'refused') throw new LossError(`${who}: ${outcome.message}`);
  const { reason, missing } = outcome;
  const count = missing ?? 'unknown';
  const loss = `the loss of what followed offset ${offset} was accepted`;
  warn(`${loss}: ${reason}. Commits missing: ${count}`);
  const detail = { after_offset: offset, missing_commits: count, reason };
  await audit.note({ action: 'accept loss', database: identity, outcome: 'done', detail });
}
