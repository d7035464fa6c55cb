/** The program that served last, as the log or a snapshot has it. */
export interface ReplayedProgram {
  readonly source: { readonly kind: 'js' | 'wasm'; readonly bytes: Uint8Array };
  readonly described: Uint8Array;
  readonly publishedMicros: bigint;
  /** The commit that published it. */
  readonly offset: number;
}
