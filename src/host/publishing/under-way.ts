import { cancelledText } from '../../database/migrations/run-bounds.ts';
import { Refusal } from '../../database/outcome.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** Updates of databases, plans and trials of them, which can be abandoned before they are done. */
export class UnderWay {
  readonly #endings = new Map<DatabaseIdentity, Set<AbortController>>();

  /**
   * `work` gets a signal that is aborted with `given`, or by `cancel`. If it ends because of that,
   * this rejects with `migration.cancelled`, whatever it was doing: linking, waiting, trying.
   */
  async with<Result>(
    identity: DatabaseIdentity,
    given: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const ending = new AbortController();
    const endings = this.#endings.get(identity) ?? new Set();
    this.#endings.set(identity, endings.add(ending));
    const signals = given === undefined ? [ending.signal] : [given, ending.signal];
    const signal = AbortSignal.any(signals);
    try {
      return await work(signal);
    } catch (error) {
      const wasStopped = error instanceof Refusal && error.body.code === 'database.stopped';
      if (!signal.aborted || !wasStopped) throw error;
      throw new Refusal({ code: 'migration.cancelled', message: cancelledText }, { cause: error });
    } finally {
      endings.delete(ending);
      if (endings.size === 0) this.#endings.delete(identity);
    }
  }

  /** Abandons all that is under way for a database; `false`: nothing is. */
  cancel(identity: DatabaseIdentity): boolean {
    const endings = this.#endings.get(identity);
    for (const ending of endings ?? []) ending.abort();
    return endings !== undefined;
  }
}
