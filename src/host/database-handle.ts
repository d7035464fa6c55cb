import type {
  CallOutcome,
  CallRequest,
  CommitOffset,
  SqlOutcome,
  SqlRequest,
} from '../database/outcome.ts';
import type { ModuleDefinition } from '../schema/definition.ts';

/**
 * One running database as the doors see it. `local-handle.ts` runs it in the caller's thread,
 * `worker-handle.ts` on a thread of its own; a door cannot tell which. One contract suite for both.
 *
 * Every method rejects with `Refusal` when nothing ran: `database.stopped`, `database.broken` (with
 * the reason it did not start), `database.overloaded`. Requests made while the database starts, or
 * is reopened after a crash, wait for it.
 */
export interface DatabaseHandle {
  /** Resolves once the database serves. */
  describe(): Promise<DatabaseDescription>;
  call(request: CallRequest): Promise<CallOutcome>;
  query(request: SqlRequest): Promise<SqlOutcome>;
  /** What publishing `program` would do; runs nothing of it but its description. */
  plan(program: ProgramSource): Promise<PlanOutcome>;
  /**
   * Replaces the program and migrates the tables in one transaction; resolves when it is durable.
   * Rejects with `Refusal` and leaves everything as it was when the plan is refused or fails.
   */
  update(program: ProgramSource, permission: UpdatePermission): Promise<void>;
  /** Counters for metrics; never waits for the database. */
  statistics(): DatabaseStatistics;
  /** Lets accepted work finish, makes it durable and ends. */
  close(): Promise<void>;
}

export interface DatabaseDescription {
  readonly definition: ModuleDefinition;
  /** Grows with every update of the program. */
  readonly schemaVersion: number;
  /** Keccak-256 of the program as published, as 64 hex digits. */
  readonly programHash: string;
}

/** A program as it was uploaded. */
export interface ProgramSource {
  readonly kind: 'js' | 'wasm';
  readonly bytes: Uint8Array;
}

export interface UpdatePermission {
  readonly policy: 'compatible' | 'breakClients';
  /** The string that `plan` returned; needed with `breakClients`. */
  readonly token: string | undefined;
  /** Milliseconds to wait for durability before `durability.timeout`. */
  readonly confirmMillis: number;
}

export type PlanOutcome =
  | {
      readonly kind: 'automatic';
      /** For people; empty when nothing changes. */
      readonly text: string;
      readonly breaksClients: boolean;
      readonly token: string;
    }
  | { readonly kind: 'manual'; readonly reason: string };

export interface DatabaseStatistics {
  readonly state: 'starting' | 'serving' | 'broken' | 'stopped';
  readonly offset: CommitOffset;
  readonly durableOffset: CommitOffset;
  readonly callsCommitted: number;
  readonly callsAborted: number;
  readonly queries: number;
  readonly restarts: number;
  readonly rowBytes: number;
  readonly indexBytes: number;
}
