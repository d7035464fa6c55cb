import { limits } from '../limits.ts';

/**
 * Prepared statements, by a key that holds all they depend on besides the schema. A repeated
 * statement skips parsing, checking and planning. Belongs to one version of the schema.
 *
 * The least recently used statement is evicted first. Long texts are not kept: statements that run
 * for that long gain little, and memory stays bounded.
 */
export class StatementCache<Prepared> {
  /** A map keeps the order of insertion, so the first key is the least recently used. */
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
