import { randomBytes } from 'node:crypto';
import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { CallerIdentity, DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Access } from '../registry/access.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import { registryIdentity } from '../registry/registry.ts';

/** How far a job is; `total` is 0 until it is known. */
export interface JobProgress {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
}

export interface Job extends JobProgress {
  readonly id: string;
  readonly kind: string;
  readonly database: DatabaseIdentity;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  /** What came of it, once it is done. */
  readonly result: Readonly<Record<string, unknown>> | undefined;
  /** Why it failed. */
  readonly error: string | undefined;
}

export interface JobWork {
  readonly kind: string;
  readonly database: DatabaseIdentity;
  /** Rejects with the reason if it fails, with any if `signal` has cancelled it. */
  readonly run: (signal: AbortSignal) => Promise<Readonly<Record<string, unknown>>>;
  /** How far it is at this moment. */
  readonly progress: () => JobProgress;
}

export interface JobsOptions {
  readonly access: Access;
  readonly clock: Clock;
}

/**
 * Work that takes longer than a request waits: it is started, looked at, and cancelled. Those who
 * started it can see it, and operators; it is kept for a while after its end. Nobody takes what
 * others need: jobs of a caller and of a database have bounds of their own, those of operators do
 * not count among those of others, and what has ended gives way to later ones of the same caller.
 */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #jobs = new Map<string, RunningJob>();

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /** Returns the id. Throws `Refusal` `jobs.tooMany` or `jobs.tooManyOfOne`. */
  start(by: HostCaller, work: JobWork): string {
    this.#forget();
    const isOperators = this.#options.access.isOperator(by);
    this.#requireRoom(by.identity, isOperators, work.database);
    const job = new RunningJob({ by: by.identity, isOperators }, work, this.#options.clock);
    this.#jobs.set(job.id, job);
    this.#keepFew(by.identity);
    return job.id;
  }

  /** Throws `Refusal` `job.unknown`, also for a job that the caller must not see. */
  find(by: HostCaller, id: string): Job {
    return this.#seen(by, id).shown();
  }

  /** True if there is one, also for callers who may not see it. */
  has(id: string): boolean {
    this.#forget();
    return this.#jobs.has(id);
  }

  /** Cancels it if it runs; otherwise forgets it. */
  cancel(by: HostCaller, id: string): void {
    const job = this.#seen(by, id);
    if (job.isRunning) job.cancel();
    else this.#jobs.delete(id);
  }

  /** Cancels all that run: the service stops. */
  cancelAll(): void {
    for (const job of this.#jobs.values()) if (job.isRunning) job.cancel();
  }

  #seen(by: HostCaller, id: string): RunningJob {
    this.#forget();
    const job = this.#jobs.get(id);
    const isOwn = by.capability === undefined && job?.by === by.identity;
    if (job !== undefined && (isOwn || this.#options.access.isOperator(by))) return job;
    throw new Refusal({ code: 'job.unknown', message: 'No such job' });
  }

  #forget(): void {
    const now = this.#options.clock.monotonicMillis();
    for (const [id, { endedAt }] of this.#jobs) {
      if (endedAt !== undefined && now - endedAt > limits.jobKeptMillis) this.#jobs.delete(id);
    }
  }

  #requireRoom(by: CallerIdentity, isOperators: boolean, database: DatabaseIdentity): void {
    const running = [...this.#jobs.values()].filter((job) => {
      return job.isRunning && job.isOperators === isOperators;
    });
    const again = 'Try again when one of them has ended';
    if (!isOperators) {
      const own = running.filter((job) => job.by === by).length;
      if (own >= limits.callerJobsMax) {
        throw tooManyOfOne(`${own} of your jobs are running or wait. ${again}, or cancel one`);
      }
      // What is restored under a new name is no database yet.
      const isOne = database !== registryIdentity;
      const ofOne = running.filter((job) => isOne && job.database === database).length;
      if (ofOne >= limits.databaseJobsMax) {
        throw tooManyOfOne(`${ofOne} jobs of this database are running or wait. ${again}`);
      }
    }
    if (running.length < limits.jobsMax) return;
    const message = `${limits.jobsMax} jobs are running. ${again}`;
    throw new Refusal({ code: 'jobs.tooMany', message });
  }

  /** Forgets the oldest that have ended, of this caller; beyond the bound of all, of any. */
  #keepFew(by: CallerIdentity): void {
    const ended = [...this.#jobs.values()].filter(({ isRunning }) => !isRunning);
    const own = ended.filter((job) => job.by === by);
    for (const { id } of own.slice(0, -limits.callerJobsKeptMax)) this.#jobs.delete(id);
    const counts = new Map<CallerIdentity, number>();
    for (const job of ended) {
      if (this.#jobs.has(job.id)) counts.set(job.by, (counts.get(job.by) ?? 0) + 1);
    }
    let left = [...counts.values()].reduce((sum, count) => sum + count, 0);
    for (; left > limits.jobsKeptMax; left--) {
      const most = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
      const oldest = ended.find((job) => job.by === most[0] && this.#jobs.has(job.id));
      if (oldest !== undefined) this.#jobs.delete(oldest.id);
      counts.set(most[0], most[1] - 1);
    }
  }
}

function tooManyOfOne(message: string): Refusal {
  return new Refusal({ code: 'jobs.tooManyOfOne', message, retryAfterSeconds: 1 });
}

class RunningJob {
  readonly id = randomBytes(16).toString('hex');
  readonly by: CallerIdentity;
  readonly isOperators: boolean;
  readonly #work: JobWork;
  readonly #abort = new AbortController();
  #end: Pick<Job, 'state' | 'result' | 'error'> | undefined;
  #endedAt: number | undefined;
  #last: JobProgress = { phase: 'waiting', done: 0, total: 0 };

  constructor(
    { by, isOperators }: Pick<RunningJob, 'by' | 'isOperators'>,
    work: JobWork,
    clock: Clock,
  ) {
    this.by = by;
    this.isOperators = isOperators;
    this.#work = work;
    const ended = (end: Pick<Job, 'state' | 'result' | 'error'>): void => {
      this.#last = work.progress();
      this.#end = end;
      this.#endedAt = clock.monotonicMillis();
    };
    work.run(this.#abort.signal).then(
      (result) => ended({ state: 'done', result, error: undefined }),
      (error: unknown) => {
        const isCancelled = this.#abort.signal.aborted;
        const reason = error instanceof Error ? error.message : String(error);
        const state = isCancelled ? 'cancelled' : 'failed';
        ended({ state, result: undefined, error: isCancelled ? undefined : reason });
      },
    );
  }

  get database(): DatabaseIdentity {
    return this.#work.database;
  }

  get isRunning(): boolean {
    return this.#end === undefined;
  }

  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  cancel(): void {
    this.#abort.abort();
  }

  shown(): Job {
    const { kind, database } = this.#work;
    const progress = this.#end === undefined ? this.#work.progress() : this.#last;
    const { state, result, error } = this.#end ?? running;
    return { id: this.id, kind, database, ...progress, state, result, error };
  }
}

const running = { state: 'running', result: undefined, error: undefined } as const;
