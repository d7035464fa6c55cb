import { definitionOf } from '../../database/program.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { TrialReport } from '../../database/trial-report.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import type { RunningDatabases } from '../databases/running-databases.ts';
import type { Access } from '../registry/access.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { DatabaseHandle, PlanOutcome } from '../supervision/database-handle.ts';
import type { Publisher } from './publish.ts';

export interface PlanControlOptions {
  readonly access: Access;
  readonly running: Pick<RunningDatabases, 'examine'>;
  readonly publisher: Pick<Publisher, 'cancel'>;
}

type PlanTarget = DatabaseRecord & { readonly handle: DatabaseHandle };

/** What a publish did to the rows of a moment before it was thrown away. */
export interface PlanTrial {
  readonly report: TrialReport;
  readonly old: ModuleDefinition;
  /** The definition that the rows of the samples have come to. */
  readonly sampled: ModuleDefinition;
}

/** What a publish would do, and the end of one that is under way. */
export class PlanControl {
  readonly #options: PlanControlOptions;

  constructor(options: PlanControlOptions) {
    this.#options = options;
  }

  /** Plans a publish; reads no rows. */
  plan(by: HostCaller, database: PlanTarget, program: ProgramSource): Promise<PlanOutcome> {
    this.#options.access.require(by, database, 'update');
    return database.handle.plan(program);
  }

  /** Carries a publish out that has a plan, on the rows of this moment, and throws it away. */
  async trial(
    by: HostCaller,
    database: PlanTarget,
    program: ProgramSource,
    signal: AbortSignal,
  ): Promise<PlanTrial> {
    const { access, running } = this.#options;
    access.require(by, database, 'update');
    const { handle, identity } = database;
    const next = definitionOf(await running.examine(identity, program));
    const old = (await handle.describe()).definition;
    const report = await handle.trial(program, signal);
    const { sampledTo } = report;
    const sampled = (sampledTo < 0 ? undefined : next.migrations[sampledTo + 1]?.from) ?? next;
    return { report, old, sampled };
  }

  /** The definition that runs, in the binary form: what a migration begins with. */
  async described(by: HostCaller, database: PlanTarget): Promise<Uint8Array> {
    const { access, running } = this.#options;
    access.require(by, database, 'update');
    return running.examine(database.identity, await database.handle.program());
  }

  /** Abandons a publish that is under way and not made yet; `false`: there is none. */
  cancel(by: HostCaller, database: PlanTarget): boolean {
    this.#options.access.require(by, database, 'update');
    return this.#options.publisher.cancel(database.identity);
  }
}
