/** Holds work on files to a rate, so that databases come first. */
export class Pace {
  readonly #bytesPerMilli: number;
  #freeAt = performance.now();

  constructor(bytesPerMilli: number) {
    this.#bytesPerMilli = bytesPerMilli;
  }

  /** Resolves when so many bytes, which were written before, fit the rate. */
  async wait(bytes: number): Promise<void> {
    const millis = this.#millisFor(bytes);
    if (millis >= 1) await new Promise((resolve) => setTimeout(resolve, millis));
  }

  /** Like `wait`, and stops the thread, which has nothing else to do. */
  block(bytes: number): void {
    const millis = this.#millisFor(bytes);
    if (millis >= 1) Atomics.wait(sleepWord, 0, 0, millis);
  }

  /** What was not used before is not made up for. */
  #millisFor(bytes: number): number {
    const now = performance.now();
    this.#freeAt = Math.max(now, this.#freeAt) + bytes / this.#bytesPerMilli;
    return this.#freeAt - now;
  }
}

const sleepWord = new Int32Array(new SharedArrayBuffer(4));
