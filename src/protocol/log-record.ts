/** One line of a module's log, as the service stores and shows it; absent keys are omitted. */
export interface LogRecord {
  /** `Info`, `Panic`, …: a capitalized word. */
  readonly level: string;
  /** Microseconds since the Unix epoch. */
  readonly ts: number;
  readonly target?: string;
  readonly filename?: string;
  readonly line_number?: number;
  readonly function?: string;
  readonly message: string;
  readonly trace?: readonly { readonly module_name?: string; readonly func_name?: string }[];
}
