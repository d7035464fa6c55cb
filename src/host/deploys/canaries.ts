import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Deploy } from '../deployed/deploy.ts';
import type { CallCounts } from '../supervision/vitals.ts';
import { CanaryWatch } from './canary-watch.ts';
import type { Deploys } from './deploys.ts';

export interface CanariesOptions {
  readonly deploys: Deploys;
  readonly clock: Clock;
  readonly callsOf: (database: DatabaseIdentity) => CallCounts | undefined;
  readonly generation: (database: DatabaseIdentity) => number | undefined;
  /** Takes the program of a deploy back. Rejects with `Refusal` where that does not work. */
  readonly rollBack: (database: DatabaseIdentity, deploy: Deploy, reason: string) => Promise<void>;
  readonly report: Report;
}

interface Watched {
  readonly deploy: Deploy;
  readonly watch: CanaryWatch;
  triesLeft: number;
  timer: NodeJS.Timeout | undefined;
}

const lookMillis = 1_000;

/**
 * Watches programs for a while after they were published, and takes back those that do worse. A
 * service that ends meanwhile begins again with that when the database serves again: its time
 * counts from the beginning, and so do its calls.
 */
export class Canaries {
  readonly #options: CanariesOptions;
  readonly #watched = new Map<DatabaseIdentity, Watched>();
  #isClosed = false;

  constructor(options: CanariesOptions) {
    this.#options = options;
  }

  /** A deploy is done: what was watched before is over. */
  deployed(database: DatabaseIdentity, deploy: Deploy): void {
    this.stop(database);
    const calls = this.#options.callsOf(database);
    if (deploy.canary?.state === 'watched' && calls !== undefined) {
      const now = this.#options.clock.monotonicMillis();
      const watch = new CanaryWatch(deploy.canary, now, calls.allCalls());
      const watched: Watched = {
        ...{ deploy, watch, timer: undefined },
        triesLeft: limits.canaryRollbackTriesMax,
      };
      this.#watched.set(database, watched);
      this.#lookLater(database, watched);
    }
  }

  /** A database serves: if it was watched when the service ended, it is watched again. */
  async serves(database: DatabaseIdentity): Promise<void> {
    const list = this.#options.deploys.of(database);
    if (this.#isClosed || this.#watched.has(database) || !(await list.mayBeWatched())) return;
    const { deploys, running } = await list.list();
    const last = deploys.at(-1);
    if (running === undefined || last === undefined || this.#watched.has(database)) return;
    if (last.canary?.state === 'watched') this.deployed(database, last);
    else await list.noLongerWatched();
  }

  stop(database: DatabaseIdentity): void {
    clearTimeout(this.#watched.get(database)?.timer);
    this.#watched.delete(database);
  }

  close(): void {
    this.#isClosed = true;
    for (const database of this.#watched.keys()) this.stop(database);
  }

  #lookLater(database: DatabaseIdentity, watched: Watched): void {
    const look = () => {
      this.#look(database, watched).catch((error: unknown) => {
        this.#report(database, `its canary is no longer watched: ${String(error)}`);
        this.stop(database);
      });
    };
    watched.timer = setTimeout(look, lookMillis).unref();
  }

  async #look(database: DatabaseIdentity, watched: Watched): Promise<void> {
    const { callsOf, generation, clock } = this.#options;
    const { deploy, watch } = watched;
    const calls = callsOf(database)?.allCalls();
    if (calls === undefined) return this.stop(database);
    if (generation(database) !== deploy.generation) {
      return this.#settle(database, watched, 'ended', 'the database was restored');
    }
    const view = watch.look(clock.monotonicMillis(), calls);
    if (view.kind === 'passed') return this.#settle(database, watched, 'passed', view.reason);
    if (view.kind === 'faulty' && !(await this.#takeBack(database, watched, view.reason))) return;
    if (this.#watched.get(database) === watched) this.#lookLater(database, watched);
  }

  /** Returns whether it has to be tried again. */
  async #takeBack(database: DatabaseIdentity, watched: Watched, reason: string): Promise<boolean> {
    try {
      await this.#options.rollBack(database, watched.deploy, reason);
      return false;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // A publish or a trial rewrites rows: it ends, and the program is taken back then.
      if (error.body.code !== 'migration.running') watched.triesLeft -= 1;
      if (watched.triesLeft > 0) return true;
      const fault = `${reason}. It could not be taken back: ${error.message}`;
      this.#report(database, fault);
      await this.#settle(database, watched, 'stuck', fault);
      return false;
    }
  }

  async #settle(
    database: DatabaseIdentity,
    watched: Watched,
    state: 'passed' | 'ended' | 'stuck',
    reason: string,
  ): Promise<void> {
    if (this.#watched.get(database) !== watched) return;
    this.stop(database);
    const list = this.#options.deploys.of(database);
    await list.settleCanary(watched.deploy.number, state, reason);
  }

  #report(database: DatabaseIdentity, problem: string): void {
    const about = { database: identityToHex(database) };
    const message = `Database ${about.database}: ${problem}`;
    this.#options.report({ level: 'error', message, about });
  }
}
