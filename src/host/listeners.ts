/** Those who want to be told of something. */
export class Listeners<Event> {
  readonly #listeners = new Set<(event: Event) => void>();

  /** `listener` is told of each event until the function that is returned is called. */
  add(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(event: Event): void {
    for (const listener of this.#listeners) listener(event);
  }
}
