import type { RestoreTarget } from '../../backup/restore-plan.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { StaticQuota } from '../registry/quotas.ts';

/** What is restored, and to where. */
export interface RestoreOrder {
  /** Absent: the only one. */
  readonly repository: string | undefined;
  /** Id of a backup, or `latest`: whatever has the newest state. */
  readonly backup: string;
  /** A name that the database had when it was backed up, or its identity. */
  readonly database: string;
  readonly at: RestoreTarget;
  readonly to: RestoreInto;
  /** Only says what would be done. */
  readonly isDry: boolean;
}

export type RestoreInto =
  | {
      readonly kind: 'new';
      readonly name: string | undefined;
      /** True to grant the roles that were granted. */
      readonly withGrants: boolean;
      /** True to keep the identity that the database had. */
      readonly sameIdentity: boolean;
      /** True to let its schedules run at once. */
      readonly runsSchedules: boolean;
    }
  /** `isForced`: also from a backup of another database. */
  | { readonly kind: 'inPlace'; readonly target: string; readonly isForced: boolean };

/** The static files of databases. */
export interface RestoredSites {
  /** Those of a database have come with its folder. */
  measure(database: DatabaseIdentity): Promise<void>;
  /** See `Sites.stageRestored`. */
  stageRestored(
    database: DatabaseIdentity,
    folder: string,
    deploy: { readonly generation: number; readonly program: string },
    quota: StaticQuota,
  ): Promise<StagedFiles | undefined>;
}

export interface StagedFiles {
  done(commit: number): Promise<void>;
  undone(): Promise<void>;
}
