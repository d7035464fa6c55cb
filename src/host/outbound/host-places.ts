/**
 * Places for requests to each host: so many run at once, and others wait for their turn, in order.
 */
export class HostPlaces {
  readonly #placesMax: number;
  readonly #hosts = new Map<string, { taken: number; readonly waiting: (() => void)[] }>();

  constructor(placesMax: number) {
    this.#placesMax = placesMax;
  }

  /** Resolves with the function that gives the place back. Rejects when `signal` is aborted. */
  async take(host: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const places = this.#hosts.get(host) ?? { taken: 0, waiting: [] };
    this.#hosts.set(host, places);
    if (places.taken < this.#placesMax) places.taken += 1;
    else await turnIn(places.waiting, signal);
    return () => this.#giveBack(host);
  }

  #giveBack(host: string): void {
    const places = this.#hosts.get(host);
    if (places === undefined) return;
    const next = places.waiting.shift();
    if (next !== undefined) {
      // It takes over the place.
      next();
      return;
    }
    places.taken -= 1;
    if (places.taken === 0) this.#hosts.delete(host);
  }
}

function turnIn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = () => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = () => {
      waiting.splice(waiting.indexOf(begin), 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    waiting.push(begin);
  });
}
