import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';

export interface DatabaseRecord {
  readonly identity: DatabaseIdentity;
  readonly owner: OwnerIdentity;
  readonly hostType: 'js' | 'wasm';
  /** Keccak-256 of the program of the last creation or reset, as 64 hex digits. */
  readonly initialProgram: string;
  readonly createdMicros: bigint;
  readonly isLocked: boolean;
}
