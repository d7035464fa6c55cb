import type { CallerIdentity } from '../../values/identity-roles.ts';

/**
 * What was done, or attempted. `read` counts what a limited token has read of a table, `manage` is
 * what the audit log notes of the database, `refused` counts refusals that have no entry of their
 * own, and such that never reached the database, `lost` says that entries are missing, and
 * `schedule` counts runs that were due.
 */
export const ledgerActions = [
  'call',
  'procedure',
  'handler',
  'sql',
  'import',
  'subscribe',
  'connect',
  'read',
  'manage',
  'refused',
  'lost',
  'schedule',
] as const;

export type LedgerAction = (typeof ledgerActions)[number];

/** Who did something. */
export interface LedgerCaller {
  readonly identity: CallerIdentity;
  /** Id of the limited token; absent: it was none. */
  readonly token?: string;
  /** The maker of that token. */
  readonly maker?: CallerIdentity;
}

/** One line of the ledger of a database. */
export interface LedgerEntry {
  /** When it was accepted, in microseconds since the Unix epoch. */
  readonly micros: bigint;
  /** Absent: it sums up several. */
  readonly caller: LedgerCaller | undefined;
  readonly action: LedgerAction;
  /** The function, the statement with `?` for its literals, the table, or words of an action. */
  readonly subject: string;
  /** `doneResult`, or the code of why not. */
  readonly result: string;
  /** Rows added and removed; `undefined`: unknown, or none of its kind. */
  readonly rows: number | undefined;
  /** How many it stands for. */
  readonly count: number;
  /** Its commit, or the commit whose rows it saw. */
  readonly offset: number | undefined;
  /** How long it ran; absent: unknown, or nothing of its kind runs. */
  readonly durationMillis?: number | undefined;
}

export const doneResult = 'done';
