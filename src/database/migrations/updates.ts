import { limits } from '../../limits.ts';
import type { DeclaredPlan } from '../../schema/declared-plan.ts';
import { MigrationError } from '../../store/migrate.ts';
import type { Store } from '../../store/store.ts';
import type { Alarm, MakeAlarm } from '../alarm.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import { cancelledRefusal, type RefusalBody, refusal } from '../outcome.ts';
import type { LoadedProgram, ProgramSurroundings } from '../program.ts';
import { refusedReply } from '../refused-reply.ts';
import type { Ticket } from '../ticket.ts';
import type { MigrationProgress, UpdateFigures } from '../trial-report.ts';
import type { DatabaseReply, TurnResult, UpdateRequest } from '../turn.ts';
import {
  type AllowedUpdate,
  type AppliedUpdate,
  allowUpdate,
  applyUpdate,
  loadUpdate,
  orFailed,
  type ProgramUpdate,
  runOptionsOf,
  tryUpdate,
} from '../update-program.ts';
import { MigrationRun, requireMemory } from './migration-run.ts';
import { RunBounds } from './run-bounds.ts';
import { NeedsStandstill } from './stage-rows.ts';
import { Trial } from './trial.ts';
import { TrialRun } from './trial-run.ts';

/** An update whose program was loaded. */
export interface PreparedUpdate {
  readonly ticket: Ticket;
  readonly request: UpdateRequest;
  readonly loaded: LoadedProgram;
  readonly acceptedMicros: bigint;
}

/** What the actor does for it. */
export interface UpdatesOwner {
  /** Queues the update as one item. */
  readonly queue: (work: PreparedUpdate) => void;
  /** Answers a ticket outside of a turn. */
  readonly refuse: (ticket: Ticket, error: unknown) => void;
  /** Work for the ticket goes on, once there are that many results. */
  readonly begin: (ticket: Ticket, resultsBefore: number) => void;
  /** Ends the reads that have paused. */
  readonly stopReads: () => readonly TurnResult[];
  readonly replaced: (ended: AppliedUpdate['ended']) => void;
  readonly updated: (applied: AppliedUpdate, figures?: UpdateFigures) => DatabaseReply;
  readonly wake: () => void;
  readonly makeAlarm?: MakeAlarm | undefined;
}

/**
 * The updates of one database. One whose migration has many rows runs beside the turns:
 *
 * ```
 *  loading ──▶ queued ──few rows──▶ applied
 *                └─many──▶ running ──slices──▶ applied, in the turn in which little is left
 *                             └──cancelled, failed, stopped──▶ nothing has happened
 * ```
 */
export class Updates {
  readonly #core: DatabaseCore;
  readonly #around: ProgramSurroundings;
  readonly #owner: UpdatesOwner;
  /** Updates whose program is being loaded beside the turns. */
  readonly #loads = new Set<Promise<void>>();
  readonly #alarm: Alarm | undefined;
  #running: Running | undefined;
  /** Those that have not begun, and those of them that nobody wants any more. */
  readonly #waiting = new Set<Ticket>();
  readonly #unwanted = new Set<Ticket>();
  /** No slice before this moment, while requests come. */
  #restsUntil = Number.NEGATIVE_INFINITY;
  #busyAt = Number.NEGATIVE_INFINITY;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(core: DatabaseCore, around: ProgramSurroundings, owner: UpdatesOwner) {
    this.#core = core;
    this.#around = around;
    this.#owner = owner;
    this.#alarm = owner.makeAlarm?.(() => this.#ring());
  }

  /** True while a migration has rows in the log that only its record will name. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Bytes of the tables that are being made. */
  get madeBytes(): number {
    return this.#running?.bounds.madeBytes ?? 0;
  }

  /** True if the next turn would do something for it. */
  get hasWork(): boolean {
    if (this.#running === undefined) return false;
    return this.#alarm === undefined || this.#core.clock.monotonicMillis() >= this.#restsUntil;
  }

  /** By the clock of turns it may be too early. */
  #ring(): void {
    if (this.hasWork) this.#owner.wake();
    else if (this.#running !== undefined) this.#setAlarm();
  }

  #setAlarm(): void {
    const { clock } = this.#core;
    const millis = Math.max(0, this.#restsUntil - clock.monotonicMillis());
    this.#alarm?.set(clock.nowMicros() + BigInt(Math.ceil(millis * 1_000)));
  }

  /** Loads the new program in parallel with the turns. */
  prepare(ticket: Ticket, request: UpdateRequest, acceptedMicros: bigint): void {
    const { program } = request;
    this.#waiting.add(ticket);
    const load = loadUpdate(this.#core, program, acceptedMicros, this.#around).then((loaded) => {
      this.#owner.queue({ ticket, request, loaded, acceptedMicros });
    });
    const guarded = load.catch((error: unknown) => {
      this.#waiting.delete(ticket);
      this.#unwanted.delete(ticket);
      this.#owner.refuse(ticket, error);
    });
    this.#loads.add(guarded);
    void guarded.finally(() => this.#loads.delete(guarded));
  }

  /** Resolves when no program is being loaded. */
  async loaded(): Promise<void> {
    await Promise.all(this.#loads);
  }

  /** Runs an update; `undefined`: it is answered in a later turn. */
  start(work: PreparedUpdate, results: TurnResult[]): DatabaseReply | undefined {
    try {
      this.#waiting.delete(work.ticket);
      const isUnwanted = this.#unwanted.delete(work.ticket) || this.#isAbandoned(work.ticket);
      if (isUnwanted || this.#running !== undefined) work.loaded.runner.dispose();
      if (isUnwanted) throw cancelledRefusal();
      if (this.#running !== undefined) throw refusal('migration.running', runningText);
      if (work.request.isTrial === true) return this.#try(work);
      const allowed = allowUpdate(this.#core, this.#updateOf(work, results));
      if (allowed === undefined) return this.#owner.updated({ breaksClients: false, ended: [] });
      const startedAt = this.#core.clock.monotonicMillis();
      const { plan } = allowed;
      if (plan.kind === 'declared') this.#requireMemory(work, plan);
      const bounds = this.#boundsOf(work);
      const run = plan.kind === 'declared' ? this.#runOf(work, plan, bounds) : undefined;
      if (run?.isLarge !== true) return this.#apply(allowed, startedAt);
      return this.#begin({ isTrial: false, work, run, bounds, allowed, startedAt });
    } catch (error) {
      return refusedReply(error);
    }
  }

  /** A slice of the migration that runs; true if it may have written. */
  goOn(results: TurnResult[], isBusy: boolean): boolean {
    const running = this.#running;
    const now = this.#core.clock.monotonicMillis();
    if (isBusy) this.#busyAt = now;
    if (running === undefined || !this.hasWork) return false;
    const { ticket } = running.work;
    this.#owner.begin(ticket, results.length);
    try {
      running.run.slice();
      if (!running.run.isReady) this.#report(running, results);
      else this.#answer(ticket, this.#finish(running, results), results);
    } catch (error) {
      this.#answer(ticket, this.#failed(running, error, results), results);
    }
    this.#rest(now);
    return true;
  }

  #answer(ticket: Ticket, reply: DatabaseReply | undefined, results: TurnResult[]): void {
    if (reply !== undefined) results.push({ ticket, reply });
  }

  /** The one who has asked for it is gone, or wants it no more. */
  cancel(ticket: Ticket): TurnResult[] {
    const running = this.#running;
    if (this.#waiting.has(ticket)) this.#unwanted.add(ticket);
    if (running?.work.ticket !== ticket) return [];
    return [this.#end(running, cancelledRefusal().body)];
  }

  /** The database closes. */
  stop(): TurnResult[] {
    const running = this.#running;
    if (running === undefined) return [];
    return [this.#end(running, { code: 'database.stopped', message: stoppedText })];
  }

  /** Drops everything: the database writes no more. */
  abandon(): void {
    this.#alarm?.dispose();
    this.#running?.run.cancel();
    this.#running = undefined;
  }

  #updateOf({ ticket, loaded, request, acceptedMicros }: PreparedUpdate, results: TurnResult[]) {
    const update: ProgramUpdate = {
      loaded,
      permission: request.permission,
      timestampMicros: acceptedMicros,
      hash: this.#around.hash,
      stopReads: () => {
        results.push(...this.#owner.stopReads());
        this.#owner.begin(ticket, results.length);
      },
      calling: () => this.#around.progress.calling(ticket),
    };
    return update;
  }

  /** Its owner has said so, and the message may still wait until this thread reads messages. */
  #isAbandoned(ticket: Ticket): boolean {
    return this.#around.progress.isAbandoned?.(ticket) ?? false;
  }

  #boundsOf({ ticket }: PreparedUpdate): RunBounds {
    return new RunBounds(this.#core, () => this.#isAbandoned(ticket));
  }

  #runOf(work: PreparedUpdate, plan: DeclaredPlan, bounds: RunBounds): MigrationRun {
    const options = runOptionsOf(this.#core, this.#updateOf(work, []), plan);
    return new MigrationRun(this.#core, { ...options, bounds });
  }

  #requireMemory({ loaded }: PreparedUpdate, plan: DeclaredPlan): void {
    const { freeBytes } = this.#core;
    try {
      if (freeBytes !== undefined) requireMemory(this.#core, plan, freeBytes());
    } catch (error) {
      loaded.runner.dispose();
      throw error;
    }
  }

  #begin(running: Running): undefined {
    running.run.begin();
    this.#running = running;
    this.#restsUntil = Number.NEGATIVE_INFINITY;
  }

  #apply(allowed: AllowedUpdate, startedAt: number, run?: MigrationRun): DatabaseReply {
    const { clock, store } = this.#core;
    const rows = rewrittenRowsOf(store, allowed.plan);
    const stoppedAt = clock.monotonicMillis();
    const applied = applyUpdate(this.#core, allowed, run);
    const now = clock.monotonicMillis();
    this.#owner.replaced(applied.ended);
    const figures = { rows, millis: now - startedAt, pauseMillis: now - stoppedAt };
    return this.#owner.updated(applied, figures);
  }

  #try(work: PreparedUpdate): DatabaseReply | undefined {
    const { loaded, request } = work;
    const tried = tryUpdate(this.#core, loaded, request.permission.isRollback);
    const { plan } = tried;
    if (plan.kind === 'automatic') {
      loaded.runner.dispose();
      return { kind: 'tried', report: new Trial(this.#core, tried).report({}, false) };
    }
    this.#requireMemory(work, plan);
    const bounds = this.#boundsOf(work);
    const update = this.#updateOf(work, []);
    const run = new TrialRun(this.#core, { tried, plan, update, bounds });
    const trying = { work, run, bounds, isTrial: true } as const;
    return run.isLarge ? this.#begin(trying) : this.#tried(trying);
  }

  /** `undefined`: it goes on beside the turns. */
  #tried(trying: TryRunning): DatabaseReply | undefined {
    const { run, work } = trying;
    try {
      const report = run.finish();
      if (report === undefined) {
        this.#running = trying;
        return undefined;
      }
      work.loaded.runner.dispose();
      return { kind: 'tried', report };
    } catch (error) {
      run.cancel();
      work.loaded.runner.dispose();
      throw error;
    }
  }

  #finish(running: Running, results: TurnResult[]): DatabaseReply | undefined {
    this.#running = undefined;
    if (running.isTrial) return this.#tried(running);
    // Results of reads that end come first.
    const { update, plan } = running.allowed;
    const allowed = {
      update: { ...update, stopReads: this.#updateOf(running.work, results).stopReads },
      plan,
    };
    return this.#apply(allowed, running.startedAt, running.run);
  }

  #failed(running: Running, error: unknown, results: TurnResult[]): DatabaseReply | undefined {
    const isOpen = this.#running === running;
    this.#running = undefined;
    if (!isOpen) return refusedReply(error);
    if (error instanceof NeedsStandstill) {
      running.run.cancel();
      return this.#catching(() => this.#finish(running, results));
    }
    if (running.isTrial && error instanceof MigrationError) {
      running.work.loaded.runner.dispose();
      return { kind: 'tried', report: running.run.failed(error) };
    }
    running.run.cancel();
    running.work.loaded.runner.dispose();
    return this.#catching(() =>
      orFailed(this.#core, () => {
        throw error;
      }),
    );
  }

  #catching(work: () => DatabaseReply | undefined): DatabaseReply | undefined {
    try {
      return work();
    } catch (error) {
      return refusedReply(error);
    }
  }

  #end(running: Running, body: RefusalBody): TurnResult {
    this.#running = undefined;
    running.run.cancel();
    running.work.loaded.runner.dispose();
    return { ticket: running.work.ticket, reply: { kind: 'refused', body } };
  }

  #report({ run, work }: Running, results: TurnResult[]): void {
    const now = this.#core.clock.monotonicMillis();
    if (now - this.#reportedAt < limits.migrationReportMillis) return;
    this.#reportedAt = now;
    const { progress } = run;
    results.push({ ticket: work.ticket, reply: { kind: 'migrating', progress } });
    this.#log(progress, now);
  }

  #log({ table, done, total }: MigrationProgress, now: number): void {
    if (now - this.#loggedAt < limits.migrationLogMillis) return;
    this.#loggedAt = now;
    const text = `Migrating: ${done} of ${total} rows are done, now those of table \`${table}\``;
    this.#core.report(hostLine('info', text));
  }

  /** While others are served, slices take a share of the time. */
  #rest(startedAt: number): void {
    const { clock } = this.#core;
    const now = clock.monotonicMillis();
    const isBusy = now - this.#busyAt < limits.migrationIdleMillis;
    const took = now - startedAt;
    this.#restsUntil = isBusy ? now + took * (1 / limits.migrationShare - 1) : now;
    if (this.#running !== undefined) this.#setAlarm();
  }
}

interface ApplyRunning {
  readonly isTrial: false;
  readonly work: PreparedUpdate;
  readonly run: MigrationRun;
  readonly bounds: RunBounds;
  readonly allowed: AllowedUpdate;
  /** By the monotonic clock. */
  readonly startedAt: number;
}

interface TryRunning {
  readonly isTrial: true;
  readonly work: PreparedUpdate;
  readonly run: TrialRun;
  readonly bounds: RunBounds;
}

type Running = ApplyRunning | TryRunning;

function rewrittenRowsOf(store: Store, plan: AllowedUpdate['plan']): number {
  const names =
    plan.kind === 'automatic'
      ? plan.steps.flatMap((step) => (step.kind === 'addColumns' ? step.table : []))
      : (plan.stages[0]?.tables ?? []).flatMap((table) => {
          return table.kind === 'rewrite' ? table.before : [];
        });
  return names.reduce((sum, name) => sum + (store.tableByName(name)?.rowCount ?? 0), 0);
}

const runningText =
  'Another publish is under way for this database: its migration rewrites rows. ' +
  'Wait for its end, or cancel it';
const stoppedText = 'The database is stopping. Nothing was changed. Publish again';
