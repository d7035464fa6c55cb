import type { EnvTexts } from '../schema/env-values.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/**
 * The configuration of a database as the program in one realm may read it. The realm of an actor
 * never has the texts of secrets; those of lanes do.
 */
export interface ModuleEnv extends EnvTexts {
  /** Another number whenever something else differs. */
  readonly version: number;
  /** Secrets that are set and cannot be decrypted. */
  readonly unreadable: readonly string[];
}

export const emptyEnv: ModuleEnv = { version: 0, values: {}, secrets: [], unreadable: [] };

/** The configuration of a database as its actor has it, for whichever program reads it. */
export interface ActorEnv {
  readonly live: ModuleEnv;
  /** What one program reads instead: it comes with values that are not live yet. */
  readonly staged?: { readonly program: string; readonly env: ModuleEnv } | undefined;
}

export const emptyActorEnv: ActorEnv = { live: emptyEnv };

/** What a program may read; `program` is its hash, 64 hex digits. */
export function envFor({ live, staged }: ActorEnv, program: string | undefined): ModuleEnv {
  return staged !== undefined && staged.program === program ? staged.env : live;
}

/** A program that reads the configuration of its database. */
export interface EnvReader {
  readonly identity: DatabaseIdentity;
  /** Counts the resets of the database. */
  readonly generation: number;
  /** Hash of the program, 64 hex digits. */
  readonly program: string;
}
