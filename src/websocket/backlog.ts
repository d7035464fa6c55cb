/**
 * What waits to be written to all sockets of a door together. Bytes that several of them share
 * count for each, so that the memory is never more than this.
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
