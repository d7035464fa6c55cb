import type { Clock } from '../database/clock.ts';
import { limits } from '../limits.ts';
import type { LineStore } from '../node/synced-lines.ts';
import { identityToHex } from '../values/identity.ts';
import type { HostCaller } from './host-types.ts';
import type { ReportLine } from './report-line.ts';

/** What changes a database, or who may do what with it. */
export type AuditAction =
  | 'create database'
  | 'update database'
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
  | 'recover owner'
  | 'accept loss'
  | 'repair log'
  | 'set quota';

export interface AuditNote {
  /** An `AuditAction`; of what was refused, the words of the refusal. */
  readonly action: string;
  /** Absent: whoever has the data folder. */
  readonly caller?: Pick<HostCaller, 'identity' | 'address' | 'capability'>;
  readonly database?: bigint;
  readonly outcome: 'done' | 'refused';
  /** Names, roles, ids: never a token, never a row. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface AuditOptions {
  readonly lines: LineStore;
  readonly clock: Clock;
  /** Told of every note, without its detail, and when a line cannot be kept. */
  readonly report: (line: ReportLine) => void;
}

/**
 * Who did what, when, and from where: JSON lines that are only ever appended. What was done is
 * noted before its caller hears of it. What was refused is noted, too, but no more than
 * `limits.auditRefusalsPerMinuteMax` of it: nobody fills the disk by asking for what they may not.
 */
export class AuditLog {
  readonly #options: AuditOptions;
  #minute = 0;
  #refusals = 0;

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /**
   * Looks at the newest lines once, when a service starts, and reports those that nobody can read.
   * They stay: lines are never changed.
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
      report({ level: 'warn', message: `${message}; they stay, and further lines follow them` });
    } catch (error) {
      report({ level: 'error', message: `the audit log cannot be read: ${String(error)}` });
    }
  }

  /** Resolves when it is durable, or reported that it cannot be kept. */
  async note(note: AuditNote): Promise<void> {
    const { lines, clock, report } = this.#options;
    const micros = clock.nowMicros();
    if (note.outcome === 'refused' && this.#isFlood(Number(micros / 60_000_000n))) return;
    const level = note.outcome === 'refused' ? 'warn' : 'info';
    report({ level, message: `${note.outcome}: ${note.action}`, about: aboutOf(note) });
    try {
      await lines.append(lineOf(note, micros), Number(micros));
    } catch (error) {
      report({ level: 'error', message: `the audit log cannot be written: ${String(error)}` });
    }
  }

  /** The last `count` lines, the oldest first. */
  tail(count: number): readonly string[] {
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
    // Of a limited token: who made it.
    for: hexOf(caller?.capability?.by),
    from: caller === undefined ? 'data folder' : caller.address,
    database: hexOf(database),
  };
}

function hexOf(identity: bigint | undefined): string | undefined {
  return identity === undefined ? undefined : identityToHex(identity);
}
