import { limits } from '../limits.ts';

/**
 * Statements that were prepared, by a key that says all they depend on besides the schema. Whoever
 * asks again saves parsing, checking and planning. Belongs to one version of the schema.
 *
 * The statement that was not asked for the longest time goes first. Long texts are not kept: what
 * runs for that long anyway gains little, and memory stays bounded.
 */
export class StatementCache<Prepared> {
  /** A map keeps the order of insertion, so the first key is the one that waits longest. */
  readonly #entries = new Map<string, Prepared>();

  get(key: string): Prepared | undefined {
    const prepared = this.#entries.get(key);
    if (prepared === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, prepared);
    return prepared;
  }

  put(key: string, prepared: Prepared): void {
    if (key.length > limits.sqlCachedTextLengthMax) return;
    this.#entries.delete(key);
    this.#entries.set(key, prepared);
    if (this.#entries.size <= limits.sqlCachedStatementsMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
