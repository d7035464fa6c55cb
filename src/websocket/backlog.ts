/**
 * Data waiting to be written to all sockets of a door. Bytes that several sockets share count for
 * each of them, so actual memory never exceeds this.
 */
export class Backlog {
  readonly #bytesMax: number;
  #byteCount = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  get isOver(): boolean {
    return this.#byteCount > this.#bytesMax;
  }

  add(byteCount: number): void {
    this.#byteCount += byteCount;
  }

  remove(byteCount: number): void {
    this.#byteCount -= byteCount;
  }
}
