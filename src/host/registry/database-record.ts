export interface DatabaseRecord {
  readonly identity: bigint;
  readonly owner: bigint;
  readonly hostType: 'js' | 'wasm';
  /** Keccak-256 of the program of the last creation or reset, as 64 hex digits. */
  readonly initialProgram: string;
  readonly createdMicros: bigint;
  readonly isLocked: boolean;
}
