import type { Brand } from '../brand.ts';
import { limits } from '../limits.ts';
import type { Store } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity, DatabaseIdentity } from '../values/identity-roles.ts';
import type { ModuleLogLine, TraceFrame } from './log-line.ts';
import { cutText } from './log-line.ts';
import type { MigrationCall, MigrationOutcome } from './migration-call.ts';
import type { ModuleEnv } from './module-env.ts';
import type { ReadSet } from './read-set.ts';

/**
 * Runs user code. One runner is one loaded program beside one database's store. Implementations:
 * `module/javascript/` (sandboxed TypeScript modules) and `host/registry/registry-module.ts` (built
 * in).
 *
 * Everything is synchronous; nothing a program does can reach past the transaction it is handed.
 */
export interface ModuleRunner {
  /** The program's own description: a module definition in its binary form, not yet validated. */
  describe(): Uint8Array;
  /** Runs one reducer inside `transaction`, which the caller commits or rolls back. */
  callReducer(call: ReducerCall, transaction: Transaction): RunOutcome;
  /**
   * Evaluates one view over the rows as they are now, those of an open transaction included. It
   * cannot write. The same rows give the same outcome. Absent where there are no views.
   */
  callView?(call: ViewCall): ViewOutcome;
  /**
   * Takes rows through migrations of the program, or runs one of their whole steps: a `run` inside
   * `transaction`, everything else without writing. Present if the program declares migrations.
   */
  callMigration?(call: MigrationCall, transaction: Transaction | undefined): MigrationOutcome;
  /** Optional: makes the calls within `run` cheaper by preparing once for all of them. */
  batch?<Result>(run: () => Result): Result;
  /** Drops the program; the runner is not used afterwards. */
  dispose(): void;
}

export interface ReducerCall {
  /** Position in the definition's reducers. */
  readonly reducerId: number;
  /** Canonical name, for log lines. */
  readonly reducerName: string;
  readonly sender: CallerIdentity;
  /** 0n = no connection. */
  readonly connectionId: ConnectionNumber;
  readonly timestampMicros: bigint;
  /** Encoded product of the parameters, already checked against their types. */
  readonly args: Uint8Array;
  /** 32 bytes of host entropy; recorded with the commit so that the call can be run again. */
  readonly seed: Uint8Array;
  /** Payload of the caller's token, as JSON text; empty = none. */
  readonly jwtPayload: string;
}

export type RunOutcome =
  /** `value`: encoded, unchecked; absent: it returned nothing. */
  | { readonly kind: 'returned'; readonly value?: Uint8Array }
  /**
   * The module threw `SenderError`: its message is for the caller. `value`: encoded, unchecked,
   * where it refused with more than a message.
   */
  | { readonly kind: 'refused'; readonly message: string; readonly value?: Uint8Array }
  /** Anything else that was thrown; for the module's log, never for the caller. */
  | { readonly kind: 'crashed'; readonly message: string; readonly trace: readonly TraceFrame[] };

/** The number of a view for its program; the view's id in the catalog is another. */
export type ViewHookId = Brand<number, 'ViewHookId'>;

export function viewHookId(raw: number): ViewHookId {
  return raw as ViewHookId;
}

export interface ViewCall {
  /** Position among the views of its kind: those with a sender, or the anonymous ones. */
  readonly hookId: ViewHookId;
  /** Canonical name, for log lines. */
  readonly viewName: string;
  /** The caller it is evaluated for; `undefined` = an anonymous view. */
  readonly sender: CallerIdentity | undefined;
}

export type ViewOutcome =
  /** `rows`: encoded rows one after another, not checked yet; `count` is the program's. */
  | {
      readonly kind: 'rows';
      readonly rows: Uint8Array;
      readonly count: number;
      readonly reads: ReadSet;
    }
  /** The program leaves the reading to a query; `reads` is what it read before. */
  | { readonly kind: 'sql'; readonly text: string; readonly reads: ReadSet }
  | Exclude<RunOutcome, { readonly kind: 'returned' }>;

/** The dependencies of a runner that loads a program. */
export interface RunnerContext {
  readonly store: Store;
  readonly databaseIdentity: DatabaseIdentity;
  readonly log: (line: ModuleLogLine) => void;
  /** Microseconds since the Unix epoch when the program was published. */
  readonly publishedMicros: bigint;
  /** The configuration at this moment, as the program may read it; absent: there is none. */
  readonly env?: (() => ModuleEnv) | undefined;
  /** Time for the program's console timers, in milliseconds; the program never sees it. */
  readonly monotonicMillis?: () => number;
}

/** A published program, ready to be evaluated by a runner (see `bundle/link.ts`). */
export interface LinkedProgram {
  /** Body of a function; its parameters are the host's bindings. */
  readonly script: string;
  /** Source map of `script`, as JSON text; empty = none. */
  readonly sourceMap: string;
  /** 32 bytes that depend on the program's bytes alone; randomness while it loads. */
  readonly seed: Uint8Array;
  /** Specifiers of host modules that the program imports, such as `reducerdb:sys@1.0`. */
  readonly imports: readonly string[];
}

export const programTooLargeText = `the program is larger than ${limits.programBytesMax} bytes`;

/** The program cannot be loaded or described; the text, which is cut, is for the publisher. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';

  constructor(message: string, options?: ErrorOptions) {
    super(cutText(message, limits.programErrorCharactersMax), options);
  }
}
