import type { ConnectionState } from '../client/connection-state.ts';
import type { Readable } from '../client/observable.ts';

/**
 * Whether the client is connected. A loss counts once it lasts `graceMillis`; the first attempt to
 * connect is not a loss.
 *
 * ```text
 * online ─ waiting, closed ─▶ doubtful ─ graceMillis ─▶ lost ─ live ─▶ online
 * doubtful ─ live ─▶ online
 * ```
 */
export class Online implements Readable<boolean> {
  readonly #state: Readable<ConnectionState>;
  readonly #graceMillis: number;
  #isOnline = true;

  constructor(state: Readable<ConnectionState>, graceMillis: number) {
    this.#state = state;
    this.#graceMillis = graceMillis;
  }

  get = (): boolean => this.#isOnline;

  subscribe = (changed: () => void): (() => void) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const set = (isOnline: boolean) => {
      if (this.#isOnline === isOnline) return;
      this.#isOnline = isOnline;
      changed();
    };
    const look = () => {
      const { kind } = this.#state.get();
      if (kind === 'live') {
        clearTimeout(timer);
        timer = undefined;
        set(true);
      } else if (kind !== 'connecting') {
        timer ??= setTimeout(() => set(false), this.#graceMillis);
      }
    };
    look();
    const stop = this.#state.subscribe(look);
    return () => {
      stop();
      clearTimeout(timer);
    };
  };
}
