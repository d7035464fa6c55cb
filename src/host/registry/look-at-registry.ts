import type { Disk } from '../../log/disk.ts';
import type { SnapshotLoading } from '../../log/snapshot.ts';
import { walkLog } from '../../log/walk.ts';
import { decodeRawModule } from '../../schema/decode-raw-module.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { planMigration } from '../../schema/migration-plan.ts';
import { validateModule } from '../../schema/validate.ts';
import { registryIdentity } from './registry.ts';

/**
 * Whether the registry in a log has something that `program`, the one of this version, does not
 * know, so that a later version wrote it. Opening would find that, too, but only after it has
 * written. Only reads; what cannot be read counts as known, since opening says why it cannot.
 */
export function isOfLaterVersion(disk: Disk, program: Uint8Array): boolean {
  const written = definitionInLog(disk);
  if (written === undefined) return false;
  const plan = planMigration(written, definitionOf(program));
  return plan.kind === 'manual' || plan.breaksClients;
}

function definitionOf(described: Uint8Array): ModuleDefinition {
  return validateModule(decodeRawModule(described));
}

/** The definition with which the log ends; `undefined`: there is none, or it cannot be read. */
function definitionInLog(disk: Disk): ModuleDefinition | undefined {
  let definition: Uint8Array | undefined;
  const snapshots: SnapshotLoading = {
    begin: () => {
      let taken: Uint8Array | undefined;
      return {
        take: (block) => {
          if (block.kind === 'schema') taken = block.schema.definition.slice();
        },
        commit: () => {
          definition = taken;
        },
        abandon: () => undefined,
      };
    },
  };
  try {
    walkLog(disk, {
      databaseIdentity: registryIdentity,
      snapshots,
      onRecord: (record) => {
        if (record.kind === 'schema') definition = record.schema.definition.slice();
      },
    });
    return definition && definitionOf(definition);
  } catch {
    return undefined;
  }
}
