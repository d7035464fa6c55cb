/** A program as it was uploaded. */
export interface ProgramSource {
  readonly kind: 'js' | 'wasm';
  readonly bytes: Uint8Array;
}

export interface UpdatePermission {
  readonly policy: 'compatible' | 'breakClients';
  /** The token returned with a plan; required with `breakClients`. */
  readonly token: string | undefined;
  /** True: it is an earlier program, and migrations that it lacks are undone. */
  readonly isRollback?: boolean;
}
