/** Longer ranges are not worth writing twice. */
const rangeBytesMax = 64 * 1024;

/**
 * Tracks which bytes of a file were written since the last sync, where they lie in one piece:
 * writing them again through a descriptor that syncs each write makes them durable.
 */
export class UnsyncedRange {
  #from = 0;
  #to = 0;
  #isOnePiece = true;
  #syncsRunning = 0;

  /** Notes that `length` bytes were written at `position`. */
  wrote(position: number, length: number): void {
    if (this.#from === this.#to) this.#from = position;
    else if (position !== this.#to) this.#isOnePiece = false;
    this.#to = position + length;
  }

  /** Notes a change other than of bytes: the file's size, or where its bytes lie. */
  changed(): void {
    this.#isOnePiece = false;
  }

  /** Notes a sync, which covers everything written so far. */
  async during(sync: Promise<void>): Promise<void> {
    this.#syncsRunning += 1;
    this.#clear();
    try {
      await sync;
    } catch (error) {
      this.#isOnePiece = false;
      throw error;
    } finally {
      this.#syncsRunning -= 1;
    }
  }

  /**
   * Makes everything durable that is not yet, by writing it again with `write`. False: it does not
   * lie in one short piece, and nothing was done.
   */
  rewrite(write: (position: number, length: number) => void): boolean {
    const length = this.#to - this.#from;
    const isKnown = this.#isOnePiece && this.#syncsRunning === 0;
    if (!isKnown || length > rangeBytesMax) return false;
    if (length > 0) write(this.#from, length);
    this.#clear();
    return true;
  }

  #clear(): void {
    this.#from = 0;
    this.#to = 0;
    this.#isOnePiece = true;
  }
}
