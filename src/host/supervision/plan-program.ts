import type { DatabaseDescription } from '../../database/description.ts';
import { definitionOf } from '../../database/program.ts';
import { hashHex, migrationToken, type ProgramHash } from '../../database/program-hash.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import { rejectionText } from '../../database/update-program.ts';
import { goneMigrationsText, planBack, planDeclared } from '../../schema/plan-declared.ts';
import { planText } from '../../schema/plan-text.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { programHashInSlices } from '../linking/program-hash.ts';
import type { PlannedUpdate, PlanOutcome } from './database-handle.ts';

export interface PlanOptions {
  readonly identity: DatabaseIdentity;
  readonly hash: ProgramHash;
  /** The definition of the program, as it was examined. */
  readonly examined: Uint8Array;
  /** See `UpdatePermission`. */
  readonly isRollback?: boolean | undefined;
}

/** Plans the publishing of `program` over the running one. */
export async function planProgram(
  program: ProgramSource,
  { definition, programHash, applied = [] }: DatabaseDescription,
  { identity, hash, examined, isRollback = false }: PlanOptions,
): Promise<PlanOutcome> {
  const next = definitionOf(examined);
  const nextHash = hashHex(await programHashInSlices(program.bytes));
  const token = migrationToken(hash, identity, programHash, nextHash);
  if (nextHash === programHash) {
    return {
      kind: 'automatic',
      text: '',
      colouredText: '',
      breaksClients: false,
      token,
      warnings: [],
    };
  }
  const plan = planOf(isRollback)(definition, next, applied);
  if (plan.kind === 'manual') return { kind: 'manual', reason: rejectionText(plan.reason) };
  const { text, breaksClients } = plan;
  const colouredText = plan.kind === 'declared' ? plan.colouredText : planText(plan.steps, 'ansi');
  const gone = isRollback ? undefined : goneMigrationsText(definition, next, applied);
  const warnings = gone === undefined ? [] : [gone];
  return { kind: 'automatic', text, colouredText, breaksClients, token, warnings };
}

function planOf(isRollback: boolean): typeof planDeclared {
  return isRollback ? planBack : planDeclared;
}

/** What an update that was examined will do. */
export function plannedUpdate(
  { definition: before, applied = [] }: DatabaseDescription,
  examined: Uint8Array,
  { program, isRollback = false }: { readonly program: string; readonly isRollback?: boolean },
): PlannedUpdate {
  const after = definitionOf(examined);
  const plan = planOf(isRollback)(before, after, applied);
  const migrations = plan.kind === 'declared' ? plan.added.map(({ id }) => id) : [];
  return { before, after, program, text: plan.kind === 'manual' ? '' : plan.text, migrations };
}
