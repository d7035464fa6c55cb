import { limits } from '../../limits.ts';

/**
 * Notifies the keeper of a process of changes, which has a channel apart from that of its actor:
 * without an answer, a call could overtake a notice. One notice stands for all changes before it.
 */
export class ChangeNotices {
  readonly #send: () => void;
  #changes = 0;
  /** The count of changes at the last notice, until it is answered. */
  #told: number | undefined;
  #waiting: { readonly change: number; readonly seen: () => void }[] = [];

  constructor(send: () => void) {
    this.#send = send;
  }

  /**
   * Resolves when the keeper knows of the change. A keeper waits for nothing, so one that does not
   * answer in time is in a process that cannot run, and neither can its lanes.
   */
  changed(): Promise<void> {
    this.#changes += 1;
    const change = this.#changes;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limits.envSeenMillisMax);
      const seen = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push({ change, seen });
      if (this.#told === undefined) this.#tell();
    });
  }

  /** The keeper has answered a notice. Throws when there was none. */
  seen(): void {
    const told = this.#told;
    if (told === undefined) throw new Error('it has seen a change that there is not');
    this.#told = undefined;
    this.#release(told);
    if (this.#changes > told) this.#tell();
  }

  /** Nobody answers any more. */
  end(): void {
    this.#release(this.#changes);
  }

  #tell(): void {
    this.#told = this.#changes;
    this.#send();
  }

  #release(change: number): void {
    const done = this.#waiting.filter((one) => one.change <= change);
    this.#waiting = this.#waiting.filter((one) => one.change > change);
    for (const { seen } of done) seen();
  }
}
