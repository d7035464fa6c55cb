import { Refusal } from '../../database/outcome.ts';
import type { UpdateFigures } from '../../database/trial-report.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Deploy } from '../deployed/deploy.ts';

/** `rolledBack`: by hand; `canary`: by the service itself; `refused`: of both, and of publishes. */
export type DeployOutcome = 'published' | 'refused' | 'rolledBack' | 'canary';

/** What deploys of one database came to since the service started, and what the last one took. */
export interface DeployFigures {
  readonly outcomes: Readonly<Record<DeployOutcome, number>>;
  /** Of the last update of a program; `undefined`: there was none. */
  readonly last: UpdateFigures | undefined;
}

/** What those try who may not deploy says nothing of deploys. */
function isStranger(error: unknown): boolean {
  return error instanceof Refusal && error.body.code === 'caller.notAuthorized';
}

const none = { published: 0, refused: 0, rolledBack: 0, canary: 0 };

/** Counts deploys for metrics: of databases that exist, so there are no more counts than those. */
export class DeployCounts {
  readonly #isThere: (database: DatabaseIdentity) => boolean;
  readonly #figures = new Map<DatabaseIdentity, DeployFigures>();

  /** `isThere`: whether there is such a database, whose refusals count. */
  constructor(isThere: (database: DatabaseIdentity) => boolean) {
    this.#isThere = isThere;
  }

  /** `undefined`: nothing was tried since the service started. */
  of(database: DatabaseIdentity): DeployFigures | undefined {
    return this.#figures.get(database);
  }

  deployed(database: DatabaseIdentity, { kind, by }: Pick<Deploy, 'kind' | 'by'>): void {
    if (kind !== 'rolled-back') this.#count(database, 'published');
    else this.#count(database, by === undefined ? 'canary' : 'rolledBack');
  }

  /** Does work that deploys something, and counts it where that is refused or fails. */
  async around<Done>(database: DatabaseIdentity, work: () => Promise<Done>): Promise<Done> {
    try {
      return await work();
    } catch (error) {
      if (this.#isThere(database) && !isStranger(error)) this.#count(database, 'refused');
      throw error;
    }
  }

  updated(database: DatabaseIdentity, last: UpdateFigures): void {
    const { outcomes = none } = this.of(database) ?? {};
    this.#figures.set(database, { outcomes, last });
  }

  forget(database: DatabaseIdentity): void {
    this.#figures.delete(database);
  }

  #count(database: DatabaseIdentity, outcome: DeployOutcome): void {
    const { outcomes = none, last } = this.of(database) ?? {};
    const counted = { ...outcomes, [outcome]: outcomes[outcome] + 1 };
    this.#figures.set(database, { outcomes: counted, last });
  }
}
