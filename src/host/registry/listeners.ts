/** Listeners for one kind of event. */
export class Listeners<Event> {
  readonly #listeners = new Set<(event: Event) => void>();

  /** Calls `listener` with each event until the returned function is called. */
  add(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(event: Event): void {
    for (const listener of this.#listeners) listener(event);
  }
}
