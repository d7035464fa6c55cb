import type { ModuleDefinition } from '../schema/definition.ts';
import type { AppliedMigration } from './migrations/migration-table.ts';

/** The program that is serving, as callers need to know it. */
export interface DatabaseDescription {
  readonly definition: ModuleDefinition;
  /** Offset of the commit that brought the program: grows with every update and across restarts. */
  readonly schemaVersion: number;
  /** Keccak-256 of the program as published, as 64 hex digits. */
  readonly programHash: string;
  /** Migrations that were applied, in the order of their ids; absent: none. */
  readonly applied?: readonly AppliedMigration[];
}
