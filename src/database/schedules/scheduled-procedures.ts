import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import type { ProcedureError } from '../outcome.ts';
import { outdatedText, type ScheduledJob } from '../procedures/running-call.ts';
import type { RunningProcedures } from '../procedures/running-procedures.ts';
import type { WriteNumber } from '../write-number.ts';
import { hostRun, markOf, placeOf, reportLateness } from './move-on.ts';
import type { ProcedureRun } from './procedure-runs.ts';
import { dropRun, endRun, isWanted, type ProcedureRunEnd } from './run-procedure.ts';

/**
 * Hands claimed rows to lanes, once their claims are durable:
 *
 * ```
 *  due ──▶ claimed ──▶ written ──▶ durable: on a lane, or in line for one ──▶ ended
 *          `claimRun`                                                          `endRun`
 * ```
 */
export class ScheduledProcedures {
  readonly #core: DatabaseCore;
  readonly #procedures: RunningProcedures;

  constructor(core: DatabaseCore, procedures: RunningProcedures) {
    this.#core = core;
    this.#procedures = procedures;
    core.schedules.runs.placesMax = procedures.hasLanes ? limits.scheduledProceduresMax : 0;
  }

  /** The claims of this turn are in this write. */
  written(write: WriteNumber): void {
    for (const run of this.#core.schedules.runs.all) run.write ??= write;
  }

  /** True if a claim is durable and its procedure does not run yet. */
  canStart(durable: WriteNumber): boolean {
    const { runs } = this.#core.schedules;
    if (runs.count === 0) return false;
    for (const run of runs.all) if (isReady(run, durable)) return true;
    return false;
  }

  /** Within a turn. `durable`: what is written up to here survives a crash. */
  start(durable: WriteNumber): void {
    const { runs } = this.#core.schedules;
    if (runs.count === 0) return;
    for (const run of [...runs.all].filter((one) => isReady(one, durable))) this.#start(run);
  }

  #start(run: ProcedureRun): void {
    const core = this.#core;
    const { work } = run;
    if (!isWanted(core, run)) {
      dropRun(core, run);
      return;
    }
    const { armed, due } = work;
    const now = core.schedules.time.now();
    run.startMicros = now;
    reportLateness(core, armed, now - due);
    const place = (): string => placeOf(work);
    const { program } = core;
    if (run.program !== program) {
      core.report(hostLine('error', `${outdatedText} (${place()})`));
      endRun(core, run, { error: outdatedText, isStopped: false });
      return;
    }
    const found = program.procedures.get(armed.functionName);
    const job: ScheduledJob = {
      kind: 'schedule',
      procedure: present(found, `the procedure of schedule ${armed.name}`),
      mark: markOf(work, due),
      place,
      ended: (error) => endRun(core, run, this.#endOf(error)),
    };
    this.#procedures.startScheduled(job, work.bytes, hostRun(core, now).timestampMicros);
  }

  #endOf(failure: ProcedureError | undefined): ProcedureRunEnd {
    if (failure === undefined) return { error: undefined, isStopped: false };
    const error = 'message' in failure ? failure.message : failure.code;
    return { error, isStopped: this.#procedures.isStopping };
  }
}

function isReady({ write, startMicros }: ProcedureRun, durable: WriteNumber): boolean {
  return startMicros === undefined && write !== undefined && write <= durable;
}
