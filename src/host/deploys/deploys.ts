import { Refusal } from '../../database/outcome.ts';
import { noSpaceText, noSpaceTextForCallers } from '../../node/folder-space.ts';
import type { Report } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { NextDeploy, RunningProgram } from '../deployed/deploy.ts';
import { DiskShelf } from '../sites/disk-shelf.ts';
import { MemoryShelf } from '../sites/shelf.ts';
import { DeployList, type StagedDeploy } from './deploy-list.ts';

export interface DeploysOptions {
  /** The folder of a database's deploys; `undefined`: they are kept in memory. */
  readonly folderOf: (database: DatabaseIdentity) => string | undefined;
  readonly nowMillis: () => number;
  readonly generation: (database: DatabaseIdentity) => number | undefined;
  /** What a database runs, once it serves. */
  readonly running: (database: DatabaseIdentity) => Promise<RunningProgram>;
  readonly program: (database: DatabaseIdentity) => Promise<Uint8Array>;
  readonly report: Report;
}

/** The deploys of all databases. */
export class Deploys {
  readonly #options: DeploysOptions;
  readonly #lists = new Map<DatabaseIdentity, DeployList>();

  constructor(options: DeploysOptions) {
    this.#options = options;
  }

  of(database: DatabaseIdentity): DeployList {
    const known = this.#lists.get(database);
    if (known !== undefined) return known;
    const { folderOf, nowMillis, generation, running, program, report } = this.#options;
    const folder = folderOf(database);
    const list = new DeployList({
      shelf: folder === undefined ? new MemoryShelf(nowMillis) : new DiskShelf(folder),
      generation: () => generation(database),
      running: () => running(database),
      program: () => program(database),
      complain: (problem) => {
        const about = { database: identityToHex(database) };
        report({ level: 'error', message: `Database ${about.database}: ${problem}`, about });
      },
    });
    this.#lists.set(database, list);
    return list;
  }

  /** See `DeployList.stage`. A full disk is refused before anything changes. */
  async stage(
    database: DatabaseIdentity,
    next: NextDeploy,
    served: string | undefined,
  ): Promise<StagedDeploy> {
    try {
      return await this.of(database).stage(next, served);
    } catch (error) {
      const text = noSpaceText(error, 'its folder of deploys');
      if (text === undefined) throw error;
      const reason = noSpaceTextForCallers(text.includes('EDQUOT'));
      const message = `The program before it: ${reason}. Nothing was published. Try again later`;
      throw new Refusal({ code: 'database.full', message, retryAfterSeconds: 1 });
    }
  }

  /** Forgets a deleted database. Its folder goes with it. */
  forget(database: DatabaseIdentity): void {
    this.#lists.delete(database);
  }
}
