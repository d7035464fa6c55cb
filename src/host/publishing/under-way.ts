import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** Updates of databases, plans and trials of them, which can be abandoned before they are done. */
export class UnderWay {
  readonly #endings = new Map<DatabaseIdentity, Set<AbortController>>();

  /** `work` gets a signal that is aborted with `given`, or by `cancel`. */
  async with<Result>(
    identity: DatabaseIdentity,
    given: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const ending = new AbortController();
    const endings = this.#endings.get(identity) ?? new Set();
    this.#endings.set(identity, endings.add(ending));
    const { signal } = ending;
    try {
      return await work(given === undefined ? signal : AbortSignal.any([given, signal]));
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
