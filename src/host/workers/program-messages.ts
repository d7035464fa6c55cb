/** What a thread needs to run its program, in the data that it is started with. */
export interface ThreadProgram {
  /** See `program-script.ts`. */
  readonly file: string;
  /** What the engine has compiled of it before; absent: it compiles what it needs. */
  readonly code?: SharedArrayBuffer | undefined;
}

/** Starts a thread that compiles its program, hands over the code, and ends. */
export interface CompilingStart {
  readonly program: ThreadProgram;
  readonly board: ArrayBufferLike;
  readonly hardeningFile: string;
  readonly isCompiling: true;
}

export interface ProgramData {
  readonly program: ThreadProgram;
  readonly isCompiling?: true;
}
