import { unreachable } from '../../assert.ts';
import { type Caller, Refusal, type RefusalBody } from '../../database/outcome.ts';
import type { ListedSchedule, ScheduleAsk } from '../../database/schedules/schedule-ask.ts';
import type { Access } from '../registry/access.ts';
import type { AuditAction, AuditLog } from '../registry/audit-log.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { KnownSchedules } from '../registry/known-schedules.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import type { ScheduleState } from '../supervision/schedule-state.ts';

export interface ScheduleControlOptions {
  readonly access: Access;
  readonly audit: AuditLog;
  readonly schedules: KnownSchedules;
}

/** The database of a request, and its caller as that database sees them. */
export interface ScheduleTarget {
  readonly database: DatabaseRecord & { readonly handle: DatabaseHandle };
  readonly caller: Caller;
}

export type ScheduleOrder = Exclude<ScheduleAsk, { readonly kind: 'list' }>;

export interface ScheduleList {
  /** True: all schedules of the database are paused together. */
  readonly isPaused: boolean;
  readonly schedules: readonly ListedSchedule[];
}

/** Shows the schedules of databases, runs and skips what is due next, pauses and resumes. */
export class ScheduleControl {
  readonly #options: ScheduleControlOptions;

  constructor(options: ScheduleControlOptions) {
    this.#options = options;
  }

  /** What is known of the schedules of a database without asking it. */
  stateOf({ identity }: DatabaseRecord): ScheduleState {
    return this.#options.schedules.stateOf(identity);
  }

  async list(by: HostCaller, { database, caller }: ScheduleTarget): Promise<ScheduleList> {
    const { access, schedules } = this.#options;
    access.require(by, database, 'viewSchedules');
    const outcome = await database.handle.schedules(caller, { kind: 'list' });
    const { isPaused } = schedules.stateOf(database.identity);
    return { isPaused, schedules: outcome.kind === 'listed' ? outcome.schedules : [] };
  }

  /** Returns the names of the schedules to which it was done. */
  async apply(
    by: HostCaller,
    { database, caller }: ScheduleTarget,
    order: ScheduleOrder,
  ): Promise<readonly string[]> {
    const { access, audit, schedules } = this.#options;
    access.require(by, database, 'controlSchedules');
    const { identity } = database;
    const isOfAll = order.name === undefined;
    const isPause = order.kind === 'pause';
    // First, because it holds for every later actor, even where there is none at this moment.
    if (isOfAll && (isPause || order.kind === 'resume')) {
      await schedules.setPaused(identity, isPause);
    }
    const outcome = await database.handle.schedules(caller, order);
    switch (outcome.kind) {
      case 'applied': {
        const detail = order.name === undefined ? {} : { schedule: order.name };
        const action: AuditAction = `${order.kind} schedule`;
        await audit.note({ action, caller: by, database: identity, outcome: 'done', detail });
        return outcome.names;
      }
      case 'unknown':
        throw new Refusal(unknownSchedule(order));
      case 'paused':
        throw new Refusal({ code: 'schedule.paused', message: pausedText(order) });
      case 'listed':
        return [];
      default:
        return unreachable(outcome);
    }
  }
}

function unknownSchedule(order: ScheduleOrder): RefusalBody {
  const { name } = order;
  const row = 'rowKey' in order ? order.rowKey : undefined;
  const message =
    row === undefined
      ? `There is no schedule \`${name}\``
      : `The schedule \`${name}\` has no row ${row} with a run to come`;
  return { code: 'schedule.unknown', message };
}

function pausedText({ name }: ScheduleOrder): string {
  if (name === undefined) return 'The schedules are paused. Resume them before you run them';
  return `The schedule \`${name}\` is paused. Resume it before you run it`;
}
