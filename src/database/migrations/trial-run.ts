import type { DeclaredPlan } from '../../schema/declared-plan.ts';
import { MigrationError } from '../../store/migrate.ts';
import type { DatabaseCore } from '../core.ts';
import type { TrialReport } from '../trial-report.ts';
import { type ProgramUpdate, runOptionsOf, type TriedUpdate } from '../update-program.ts';
import { MigrationRun } from './migration-run.ts';
import type { RunBounds } from './run-bounds.ts';
import { Trial } from './trial.ts';
import { WayBack, wayBackFrom } from './way-back.ts';
import type { Workshop } from './workshop.ts';

export interface TrialRunOptions {
  readonly tried: TriedUpdate;
  readonly plan: DeclaredPlan;
  readonly update: Pick<ProgramUpdate, 'loaded' | 'timestampMicros' | 'calling'>;
  readonly bounds: RunBounds;
}

/**
 * A declared migration that is thrown away, and then the way back from what it has made:
 *
 * ```
 *  forth ──finish──▶ back ──finish──▶ report           each in slices where it has many rows
 *    └── fails, or is a way back itself ──▶ report
 * ```
 */
export class TrialRun {
  readonly #core: DatabaseCore;
  readonly #options: TrialRunOptions;
  readonly #trial: Trial;
  readonly #forth: MigrationRun;
  #back: { readonly way: WayBack; readonly report: TrialReport } | undefined;

  constructor(core: DatabaseCore, options: TrialRunOptions) {
    const { tried, plan, update, bounds } = options;
    const trial = new Trial(core, tried);
    this.#core = core;
    this.#options = options;
    this.#trial = trial;
    this.#forth = new MigrationRun(core, {
      ...runOptionsOf(core, update, plan),
      ...{ samples: trial, isTrial: true, goesOn: true, bounds },
      onAssertion: (id, text, holds) => trial.asserted(id, text, holds),
    });
  }

  get isLarge(): boolean {
    return this.#now.isLarge;
  }

  get isReady(): boolean {
    return this.#now.isReady;
  }

  get progress() {
    return this.#now.progress;
  }

  begin(): void {
    this.#now.begin();
  }

  slice(): void {
    this.#now.slice();
  }

  cancel(): void {
    this.#now.cancel();
  }

  /** Takes what is left. `undefined`: now come the slices of the way back. */
  finish(): TrialReport | undefined {
    return this.#options.bounds.inStandstill(() => this.#finish());
  }

  #finish(): TrialReport | undefined {
    const made = this.#made(this.#now);
    if (made instanceof MigrationError) return this.failed(made);
    const back = this.#back;
    if (back !== undefined) return { ...back.report, back: back.way.report({ workshop: made }) };
    const report = this.#trial.report({ workshop: made, ...this.#overQuota(made) }, this.isLarge);
    const { plan, update, bounds } = this.#options;
    if (report.failure !== undefined || plan.added.length === 0) return report;
    const way = wayBackFrom(this.#core, { plan, update, bounds, run: this.#forth, workshop: made });
    if (!(way instanceof WayBack)) return { ...report, back: way };
    this.#back = { way, report };
    if (!way.isLarge) return this.#finish();
    this.begin();
    return undefined;
  }

  /** The report where it failed. */
  failed(failure: MigrationError): TrialReport {
    this.cancel();
    if (this.#back === undefined) return this.#trial.report({ failure }, this.isLarge);
    const { report, way } = this.#back;
    return { ...report, back: way.report({ failure }) };
  }

  get #now(): MigrationRun {
    return this.#back?.way.run ?? this.#forth;
  }

  #made(run: MigrationRun): Workshop | MigrationError {
    try {
      return run.finish();
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error;
      return error;
    } finally {
      run.cancel();
    }
  }

  #overQuota({ rowBytes }: Workshop) {
    const fault = this.#core.quota.faultOfRows(this.#core, rowBytes);
    return fault === undefined ? {} : { failure: new Error(fault) };
  }
}
