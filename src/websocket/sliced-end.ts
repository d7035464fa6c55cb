import { limits } from '../limits.ts';

export interface SlicedEndOptions<Client extends object> {
  /** Those that are there, in the order in which they are to go. */
  readonly open: () => Iterable<Client>;
  readonly end: (client: Client) => void;
}

/**
 * Ends connections a few at a time, so that the hosts which get them next are not asked for
 * everything at one moment: each second a twentieth of those that there were at the beginning.
 */
export class SlicedEnd<Client extends object> {
  readonly #options: SlicedEndOptions<Client>;
  #ended = new WeakSet<Client>();
  #timer: NodeJS.Timeout | undefined;
  #slice = 1;

  constructor(options: SlicedEndOptions<Client>) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#timer !== undefined;
  }

  begin(): void {
    if (this.#timer !== undefined) return;
    const count = [...this.#options.open()].length;
    this.#slice = Math.max(1, Math.ceil(count * limits.drainSliceShare));
    this.#timer = setInterval(() => this.#endSome(), limits.drainSliceMillis).unref();
    this.#endSome();
  }

  /** Those that are there stay. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#ended = new WeakSet();
  }

  #endSome(): void {
    let left = this.#slice;
    for (const client of [...this.#options.open()]) {
      if (left === 0) return;
      if (this.#ended.has(client)) continue;
      this.#ended.add(client);
      left -= 1;
      this.#options.end(client);
    }
  }
}
