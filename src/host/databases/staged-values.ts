import { Refusal, updateFailure } from '../../database/outcome.ts';
import type { Report } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import type { CallerIdentity, DatabaseIdentity } from '../../values/identity-roles.ts';
import type { StagedEnv } from '../registry/env-row.ts';
import type { EnvStore, GivenEnv } from '../registry/env-store.ts';
import type { Registry } from '../registry/registry.ts';

export interface StagedValuesOptions {
  readonly registry: Registry;
  readonly env: EnvStore;
  /** The program that runs, once the database serves; `isDurable`: a crash cannot undo it. */
  readonly running: (
    database: DatabaseIdentity,
  ) => Promise<{ readonly program: string; readonly isDurable: boolean }>;
  readonly report: Report;
}

/** Values that come with a publish. `done` or `undone` is called in the end, once `stage` was. */
export interface PublishedValues {
  /** Writes them for the program that will be; it alone reads them. Before it changes. */
  stage(publish: PublishOf): Promise<void>;
  /** The publish is durable: they are what is set. */
  done(): Promise<void>;
  /** The publish failed, or it is not known whether it did: then the database decides. */
  undone(error: unknown): Promise<void>;
}

/** A publish, and what shows that it has happened; `nothing`: its program runs already. */
export interface PublishOf extends Omit<StagedEnv, 'rows' | 'decider'> {
  readonly decider: StagedEnv['decider'] | 'nothing';
}

/**
 * Values that come with publishes. They are durable before the program changes, for that program
 * alone, so that a crash at any moment leaves a program with its own values. Publishes of one
 * database run one at a time.
 */
export class StagedValues {
  readonly #options: StagedValuesOptions;
  /** Databases with a publish that is under way: it settles its values itself. */
  readonly #underWay = new Set<DatabaseIdentity>();
  #stageCount = 0;

  constructor(options: StagedValuesOptions) {
    this.#options = options;
  }

  of(
    database: DatabaseIdentity,
    change: { readonly given: readonly GivenEnv[]; readonly by: CallerIdentity },
  ): PublishedValues {
    const { registry, env } = this.#options;
    let state: 'given' | 'live' | 'staged' | 'over' = 'given';
    return {
      stage: async ({ decider, ...publish }) => {
        if (decider === 'nothing') {
          state = 'live';
          return;
        }
        await registry.exclusively(async () => {
          await env.stage(database, { ...publish, decider }, change);
          this.#stageCount += 1;
          this.#underWay.add(database);
        });
        state = 'staged';
      },
      done: async () => {
        const before = state;
        state = 'over';
        if (before === 'live') {
          await registry.exclusively(() => env.change(database, change));
          await env.announce(database);
        }
        if (before === 'staged') await this.#end(database, true);
      },
      undone: async (error) => {
        const wasStaged = state === 'staged';
        state = 'over';
        if (!wasStaged) return;
        if (mayHaveHappened(error)) this.#underWay.delete(database);
        else await this.#end(database, false);
      },
    };
  }

  /**
   * Ends what a publish has left open: sets its values, or removes them. Throws `Refusal` while it
   * cannot be known which.
   */
  async settle(database: DatabaseIdentity): Promise<void> {
    const { registry, env } = this.#options;
    const staged = env.stagedOf(database);
    if (staged === undefined || this.#underWay.has(database)) return;
    const stageCount = this.#stageCount;
    const applies = await this.#hasHappened(database, staged);
    const isSettled = await registry.exclusively(async () => {
      // Another publish may have come meanwhile.
      if (stageCount !== this.#stageCount || env.stagedOf(database) === undefined) return false;
      await env.settle(database, applies);
      return true;
    });
    if (isSettled) await env.announce(database);
  }

  /** Settles what needs no database for it. What cannot be written now is settled later. */
  async settleAtStart(): Promise<void> {
    const { registry, env } = this.#options;
    for (const database of env.databases) {
      const staged = env.stagedOf(database);
      if (staged === undefined) continue;
      const isOfProgram = staged.decider === 'program';
      if (isOfProgram && registry.database(database)?.generation === staged.generation) continue;
      await ignoreRefusal(this.settle(database));
    }
  }

  async #hasHappened(database: DatabaseIdentity, staged: StagedEnv): Promise<boolean> {
    const { registry, running } = this.#options;
    if (registry.database(database)?.generation !== staged.generation) return false;
    if (staged.decider === 'generation') return true;
    const { program, isDurable } = await running(database);
    if (program !== staged.program) return false;
    if (isDurable) return true;
    const text = 'the last publish, which came with values, is not durable yet. Try again.';
    throw updateFailure('durability.timeout', text);
  }

  /** Until the registry can be written, the program goes on to read what is staged for it. */
  async #end(database: DatabaseIdentity, applies: boolean): Promise<void> {
    const { registry, env, report } = this.#options;
    try {
      await registry.exclusively(() => env.settle(database, applies));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const message = `The values of a publish stay staged: ${error.message}`;
      report({ level: 'warn', message, about: { database: identityToHex(database) } });
    } finally {
      this.#underWay.delete(database);
    }
    await env.announce(database);
  }
}

/** Waits for work that may be refused, and is done at another time then. */
export async function ignoreRefusal(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

/** True for a publish of which it is not known whether it took place, or which did anyway. */
function mayHaveHappened(error: unknown): boolean {
  if (!(error instanceof Refusal)) return true;
  return error.body.code === 'durability.timeout' || error.body.code === 'database.lost';
}
