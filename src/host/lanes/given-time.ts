import type { FromLane } from './lane-messages.ts';
import type { StartSleep } from './lane-operations.ts';

/**
 * The time of a lane whose database says what time it is, as a test does: nothing passes by itself,
 * and sleeps end when the database says so.
 */
export class GivenTime {
  readonly #post: (message: FromLane) => void;
  readonly #sleeps = new Map<number, () => void>();
  #last = 0;
  nowMicros = 0n;

  constructor(post: (message: FromLane) => void) {
    this.#post = post;
  }

  readonly startSleep: StartSleep = (micros, over) => {
    this.#last += 1;
    const sleep = this.#last;
    this.#sleeps.set(sleep, over);
    this.#post({ kind: 'sleep', sleep, micros });
    return () => {
      this.#sleeps.delete(sleep);
      this.#post({ kind: 'awake', sleep });
    };
  };

  /** It is that late now. Never goes back. */
  tell(nowMicros: bigint): void {
    if (nowMicros > this.nowMicros) this.nowMicros = nowMicros;
  }

  slept(sleep: number, nowMicros: bigint): void {
    this.tell(nowMicros);
    const over = this.#sleeps.get(sleep);
    this.#sleeps.delete(sleep);
    over?.();
    this.#post({ kind: 'slept', sleep });
  }
}
