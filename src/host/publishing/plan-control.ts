import { definitionOf } from '../../database/program.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import { ownerRights } from '../../database/rights.ts';
import type { TrialBack, TrialReport } from '../../database/trial-report.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { type AppliedMigration, planBack } from '../../schema/plan-declared.ts';
import { asCaller } from '../../values/identity-roles.ts';
import type { RunningDatabases } from '../databases/running-databases.ts';
import { type Loss, lossesOf } from '../deploys/way-back.ts';
import type { Access } from '../registry/access.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { DatabaseHandle, PlanOutcome } from '../supervision/database-handle.ts';
import type { Publisher } from './publish.ts';

export interface PlanControlOptions {
  readonly access: Access;
  readonly running: Pick<RunningDatabases, 'examine'>;
  readonly publisher: Pick<Publisher, 'underWay'>;
}

export type PlanTarget = DatabaseRecord & { readonly handle: DatabaseHandle };

/** What a publish did to the rows of a moment before it was thrown away. */
export interface PlanTrial {
  readonly report: TrialReport;
  readonly old: ModuleDefinition;
  /** The definition that the rows of the samples have come to. */
  readonly sampled: ModuleDefinition;
  /** The way back from it; `undefined`: it fails, or is a way back itself. */
  readonly back: TriedBack | undefined;
}

/** What a roll back right after a publish would do to the rows of this moment. */
export interface TriedBack {
  /** Of `down` steps; `undefined`: no migration would be undone. */
  readonly report: TrialBack | undefined;
  /** Why there is no way back; `undefined`: there is one. */
  readonly reason: string | undefined;
  /** What the earlier program has no place for. */
  readonly losses: readonly Loss[];
  /** The definitions that the rows of its samples begin with, and have come to. */
  readonly from: ModuleDefinition;
  readonly sampled: ModuleDefinition;
}

/** What a publish would do, and the end of one that is under way. */
export class PlanControl {
  readonly #options: PlanControlOptions;

  constructor(options: PlanControlOptions) {
    this.#options = options;
  }

  /** Plans a publish; reads no rows. */
  plan(
    by: HostCaller,
    database: PlanTarget,
    program: ProgramSource,
    signal?: AbortSignal,
  ): Promise<PlanOutcome> {
    const { access, publisher } = this.#options;
    access.require(by, database, 'update');
    return publisher.underWay.with(database.identity, signal, (either) => {
      return database.handle.plan(program, { signal: either });
    });
  }

  /** Carries a publish out that has a plan, on the rows of this moment, and throws it away. */
  async trial(
    by: HostCaller,
    database: PlanTarget,
    program: ProgramSource,
    signal: AbortSignal,
  ): Promise<PlanTrial> {
    const { access, running, publisher } = this.#options;
    access.require(by, database, 'update');
    const { handle, identity } = database;
    const { definition: old, applied = [] } = await handle.describe();
    const { next, report } = await publisher.underWay.with(identity, signal, async (either) => {
      const described = await running.examine(identity, program, either);
      return { next: definitionOf(described), report: await handle.trial(program, either) };
    });
    const { sampledTo } = report;
    const sampled = (sampledTo < 0 ? undefined : next.migrations[sampledTo + 1]?.from) ?? next;
    if (report.failure !== undefined) return { report, old, sampled, back: undefined };
    const rowCounts = await rowCountsAfter(database, report);
    const back = triedBack({ old, next, applied, report, rowCounts });
    return { report, old, sampled, back };
  }

  /** The definition that runs, in the binary form: what a migration begins with. */
  async described(by: HostCaller, database: PlanTarget): Promise<Uint8Array> {
    const { access, running } = this.#options;
    access.require(by, database, 'update');
    return running.examine(database.identity, await database.handle.program());
  }

  /** Abandons publishes that are not made yet, plans and trials; `false`: none is under way. */
  cancel(by: HostCaller, database: PlanTarget): boolean {
    this.#options.access.require(by, database, 'update');
    return this.#options.publisher.underWay.cancel(database.identity);
  }
}

/** By the names of the tables after a trial. */
async function rowCountsAfter(
  { handle, owner }: PlanTarget,
  { tables }: TrialReport,
): Promise<ReadonlyMap<string, number>> {
  const caller = { identity: asCaller(owner), rights: ownerRights, jwtPayload: '' };
  const now = await handle.tables(caller);
  const counts = new Map(now.map(({ table, size }) => [table, size?.rowCount ?? 0]));
  for (const { before } of tables) if (before !== undefined) counts.delete(before);
  for (const { after, rowsAfter } of tables) {
    if (after !== undefined) counts.set(after, rowsAfter ?? 0);
  }
  return counts;
}

interface MadeChange {
  readonly old: ModuleDefinition;
  readonly next: ModuleDefinition;
  readonly applied: readonly AppliedMigration[];
  readonly report: TrialReport;
  readonly rowCounts: ReadonlyMap<string, number>;
}

/** `down` steps were tried with the migration; all else follows from the definitions. */
function triedBack({ old, next, applied, report, rowCounts }: MadeChange): TriedBack {
  const { back } = report;
  const sampled = (back && next.migrations[back.sampledTo + 1]?.from) ?? old;
  const shown = { report: back, from: next, sampled };
  if (back !== undefined) {
    const { failure: reason, isTried } = back;
    // What `down` steps make of rows, they have declared.
    return { ...shown, reason, losses: isTried ? [] : lossesOf(next, old, rowCounts) };
  }
  const plan = planBack(next, old, applied);
  const reason = plan.kind === 'manual' ? plan.reason : undefined;
  return { ...shown, reason, losses: lossesOf(next, old, rowCounts) };
}
