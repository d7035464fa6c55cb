import type { CronDefinition, SchedulePolicy } from '../../schema/definition.ts';
import { tableId } from '../../schema/ids.ts';
import type { CronFault, CronReader, CronSteps } from '../cron.ts';
import { noReader } from '../cron-faults.ts';
import { DueQueue } from './due-queue.ts';
import { microsOf } from './due-time.ts';
import { ScheduleState } from './schedule-state.ts';
import { type Control, noControl } from './schedule-tables.ts';

/** A cron of the program that serves, and when it is due. */
export class ArmedCron {
  readonly kind = 'cron';
  readonly id = cronTableId;
  readonly definition: CronDefinition;
  /** Place in the definition, which names it where numbers are used. */
  readonly position: number;
  readonly state: ScheduleState;
  /** One entry, unless it is disabled. */
  readonly queue = new DueQueue();
  /** Its row; `undefined` before there is one. */
  control: Control | undefined;
  /** Why its expression cannot be read. */
  readonly fault: CronFault | undefined;
  readonly #steps: CronSteps | undefined;

  constructor(
    definition: CronDefinition,
    position: number,
    reader: CronReader | undefined,
    before: ArmedCron | undefined,
  ) {
    this.definition = definition;
    this.position = position;
    this.state = before?.state ?? new ScheduleState();
    const { expression, timeZone } = definition;
    const read = reader?.read(expression, timeZone) ?? noReader;
    if ('message' in read) this.fault = read;
    else this.#steps = read;
    this.follow(before?.control);
  }

  get name(): string {
    return this.definition.name;
  }

  get functionName(): string {
    return this.definition.name;
  }

  get policy(): SchedulePolicy {
    return this.definition.policy;
  }

  get isOfProcedure(): boolean {
    return false;
  }

  get armedRows(): number {
    return 0;
  }

  /** The first of its times after this one; `undefined`: there is none, or it is disabled. */
  nextAfter(micros: number): number | undefined {
    const next = this.#steps?.nextAfter(BigInt(micros));
    return next === undefined ? undefined : microsOf(next);
  }

  /** The last of its times that is not after this one. */
  lastUntil(micros: number): number | undefined {
    const last = this.#steps?.lastUntil(BigInt(micros));
    return last === undefined ? undefined : microsOf(last);
  }

  /** True if the row is about this expression, so that its due time goes on. */
  isOf({ expression, timeZone }: Control): boolean {
    return expression === this.definition.expression && timeZone === this.#zone;
  }

  /** The row of a cron that is due at this time, and has not failed since. */
  controlAt(due: number | undefined): Control {
    const { expression } = this.definition;
    const before = this.control ?? { ...noControl, name: this.name };
    const times = { due: due ?? never, at: due ?? never, attempt: 0 };
    return { ...before, expression, timeZone: this.#zone, ...times };
  }

  /** Takes over its row, as it is now. */
  follow(control: Control | undefined): void {
    this.control = control;
    this.queue.clear();
    if (control === undefined || !this.isOf(control)) return;
    if (this.fault === undefined && control.at !== never) {
      this.queue.push(control.at, 0, this.position);
    }
  }

  get #zone(): string {
    return this.definition.timeZone ?? '';
  }
}

/** Stands for a cron where the id of a table is asked for. */
export const cronTableId = tableId(0);

/** Due time of a cron whose expression names no further time. */
const never = 0;
