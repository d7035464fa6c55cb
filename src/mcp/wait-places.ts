import { limits } from '../limits.ts';
import { ToolFailure } from './tool.ts';

/**
 * The waits for changes that run at the same time, of all callers and of each: a wait holds a
 * connection to its database, and a watched query there.
 */
export class WaitPlaces {
  readonly #byCaller = new Map<string, number>();
  #all = 0;

  /** Takes a place, until the returned function is called once. Throws `ToolFailure`. */
  take(caller: string): () => void {
    const own = this.#byCaller.get(caller) ?? 0;
    if (own >= limits.callerWaitsMax) {
      const count = limits.callerWaitsMax;
      throw new ToolFailure(`${count} waits of yours are running; end one, or let one end`);
    }
    if (this.#all >= limits.agentWaitsMax) {
      throw new ToolFailure('too many waits of all callers are running; wait again in a while');
    }
    this.#all += 1;
    this.#byCaller.set(caller, own + 1);
    return () => this.#free(caller);
  }

  #free(caller: string): void {
    this.#all -= 1;
    const left = (this.#byCaller.get(caller) ?? 1) - 1;
    if (left === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, left);
  }
}
