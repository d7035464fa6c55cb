/** A program as it was uploaded. */
export interface ProgramSource {
  readonly kind: 'js' | 'wasm';
  readonly bytes: Uint8Array;
}

export interface UpdatePermission {
  readonly policy: 'compatible' | 'breakClients';
  /** The string that a plan returned; needed with `breakClients`. */
  readonly token: string | undefined;
}
