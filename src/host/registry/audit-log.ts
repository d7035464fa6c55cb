import type { Clock } from '../../database/clock.ts';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import type { LineStore } from '../../node/synced-lines.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HostCaller } from './host-caller.ts';

/** Actions that change a database, or the rights on it. */
export type AuditAction =
  | 'create database'
  | 'update database'
  | 'roll back database'
  | 'reset database'
  | 'delete database'
  | 'lock database'
  | 'unlock database'
  | 'rename database'
  | 'grant role'
  | 'revoke role'
  | 'create token'
  | 'revoke token'
  | 'give up token'
  | 'begin session'
  | 'recover owner'
  | 'accept loss'
  | 'repair log'
  | 'set quota'
  | 'take snapshot'
  | 'verify database'
  | 'change history settings'
  | 'forget'
  | 'import rows'
  | 'disconnect client'
  | 'back up database'
  | 'back up host'
  | 'restore database'
  | 'run schedule'
  | 'skip schedule'
  | 'pause schedule'
  | 'resume schedule'
  | 'set env'
  | 'unset env'
  | 'move database'
  | 'set copies'
  | 'rotate keys'
  | 'retire key'
  | 'rotate cluster secret'
  | 'drain host'
  | 'undrain host'
  | 'forget host'
  | 'export from cluster'
  | 'check engine'
  | 'verify shared log'
  | 'repair shared log';

export interface AuditNote {
  /** An `AuditAction`; for a refused action, the words of the refusal. */
  readonly action: string;
  /** Absent: the caller has access to the data folder. */
  readonly caller?: Pick<HostCaller, 'identity' | 'address' | 'capability'> &
    Partial<Pick<HostCaller, 'payload'>>;
  readonly database?: DatabaseIdentity;
  /** Of work that goes on after its answer: `started`, then `done` or `failed`. */
  readonly outcome: 'done' | 'refused' | 'started' | 'failed';
  /** Names, roles, ids: never a token, never a row. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface AuditOptions {
  readonly lines: LineStore;
  readonly clock: Clock;
  /** Receives every note, without its detail, and a report when a line cannot be kept. */
  readonly report: Report;
  /** Receives every note as well, for the ledger of its database. */
  readonly noted?: (note: AuditNote, micros: bigint) => void;
}

/**
 * Records who did what, when, and from where, in JSON lines that are only ever appended. An action
 * is noted before its caller gets the answer. Refused actions are noted too, but no more than
 * `limits.auditRefusalsPerMinuteMax` of them, so that forbidden requests cannot fill the disk.
 */
export class AuditLog {
  readonly #options: AuditOptions;
  #minute = 0;
  #refusals = 0;
  /** Settles after every note before it. */
  #newest: Promise<unknown> = Promise.resolve();

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /**
   * Checks the newest lines once, when a service starts, and reports unreadable ones. They stay:
   * lines are never changed.
   */
  check(): void {
    const { lines, report } = this.#options;
    try {
      const newest = lines.newest(limits.auditLookBytes);
      if (newest === undefined) return;
      const unreadable = newest.lines.filter((line) => !isNote(line)).length;
      if (unreadable === 0) return;
      const count = `${unreadable} of the last ${newest.lines.length} lines`;
      const message = `The audit log is damaged: ${count} of ${newest.file} cannot be read`;
      report({ level: 'warn', message: `${message}; they are kept, and new lines follow them` });
    } catch (error) {
      report({ level: 'error', message: `the audit log cannot be read: ${String(error)}` });
    }
  }

  /** Resolves when the note is durable, or when its loss was reported. */
  async note(note: AuditNote): Promise<void> {
    const { lines, clock, report } = this.#options;
    const micros = clock.nowMicros();
    if (note.outcome === 'refused' && this.#isFlood(Number(micros / 60_000_000n))) return;
    const isFine = note.outcome === 'done' || note.outcome === 'started';
    const level = isFine ? 'info' : 'warn';
    report({ level, message: `${note.outcome}: ${note.action}`, about: aboutOf(note) });
    this.#options.noted?.(note, micros);
    try {
      const written = lines.append(lineOf(note, micros), Number(micros));
      this.#newest = written.catch(() => undefined);
      await written;
    } catch (error) {
      report({ level: 'error', message: `the audit log cannot be written: ${String(error)}` });
    }
  }

  /** The last `count` lines, the oldest first, with all that was noted before this call. */
  async tail(count: number): Promise<readonly string[]> {
    await this.#newest;
    const all = [...this.#options.lines.lines()];
    return count === 0 ? [] : all.slice(-count);
  }

  close(): Promise<void> {
    return this.#options.lines.close();
  }

  #isFlood(minute: number): boolean {
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#refusals = 0;
    }
    this.#refusals += 1;
    return this.#refusals > limits.auditRefusalsPerMinuteMax;
  }
}

function isNote(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}

function lineOf(note: AuditNote, micros: bigint): string {
  const { action, outcome, detail } = note;
  const time = new Date(Number(micros / 1000n)).toISOString();
  return JSON.stringify({ time, action, outcome, ...aboutOf(note), ...detail });
}

function aboutOf({ caller, database }: AuditNote) {
  return {
    by: hexOf(caller?.identity),
    // For a limited token: its maker.
    for: hexOf(caller?.capability?.by),
    from: caller === undefined ? 'data folder' : caller.address,
    database: hexOf(database),
  };
}

function hexOf(identity: bigint | undefined): string | undefined {
  return identity === undefined ? undefined : identityToHex(identity);
}
