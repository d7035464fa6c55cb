import type { ProgramSource } from '../../database/program-source.ts';
import type { RunningDatabases } from '../databases/running-databases.ts';
import type { Access } from '../registry/access.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';

export interface PlanControlOptions {
  readonly access: Access;
  readonly running: Pick<RunningDatabases, 'examine'>;
}

type PlanTarget = DatabaseRecord & { readonly handle: DatabaseHandle };

/** What a publish would do, and the end of one that is under way. */
export class PlanControl {
  readonly #options: PlanControlOptions;

  constructor(options: PlanControlOptions) {
    this.#options = options;
  }

  /** Plans a publish; reads no rows. */
  plan(by: HostCaller, { handle, ...record }: PlanTarget, program: ProgramSource) {
    this.#options.access.require(by, record, 'update');
    return handle.plan(program);
  }

  /** The definition that runs, in the binary form: what a migration begins with. */
  async described(by: HostCaller, { handle, ...record }: PlanTarget): Promise<Uint8Array> {
    const { access, running } = this.#options;
    access.require(by, record, 'update');
    return running.examine(record.identity, await handle.program());
  }
}
