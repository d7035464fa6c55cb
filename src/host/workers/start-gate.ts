import { limits } from '../../limits.ts';

interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
  /** How many have come later and gone in front of it. */
  overtaken: number;
}

/**
 * Bounds how much work of one kind is done at once: databases that open, files that are compressed.
 * Of those that wait, the one with the fewest bytes goes first; equal ones go in the order of
 * arrival. Large ones never take all places, so that small ones do not wait for them; and nobody is
 * overtaken without end.
 */
export class StartGate {
  readonly #places: number;
  readonly #largePlaces: number;
  #taken = 0;
  #takenByLarge = 0;
  readonly #waiting: Waiting[] = [];

  constructor(places: number) {
    this.#places = places;
    this.#largePlaces = Math.max(1, places - 1);
  }

  /**
   * Resolves with a function that gives the place back and that can be called more than once.
   * `bytes`: those of the log to read, none for a new database, or of the file.
   */
  async enter(bytes = 0): Promise<() => void> {
    if (this.#hasRoom(bytes)) this.#take(bytes);
    else await new Promise<void>((enter) => this.#queue({ bytes, enter, overtaken: 0 }));
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#leave(bytes);
    };
  }

  #hasRoom(bytes: number): boolean {
    const hasPlace = this.#taken < this.#places;
    return hasPlace && (!isLarge(bytes) || this.#takenByLarge < this.#largePlaces);
  }

  #take(bytes: number): void {
    this.#taken += 1;
    if (isLarge(bytes)) this.#takenByLarge += 1;
  }

  #queue(entry: Waiting): void {
    const canPass = ({ bytes, overtaken }: Waiting) =>
      bytes > entry.bytes && overtaken < limits.startOvertakesMax;
    const at = this.#waiting.findLastIndex((other) => !canPass(other)) + 1;
    for (const other of this.#waiting.slice(at)) other.overtaken += 1;
    this.#waiting.splice(at, 0, entry);
  }

  #leave(bytes: number): void {
    this.#taken -= 1;
    if (isLarge(bytes)) this.#takenByLarge -= 1;
    const at = this.#waiting.findIndex((entry) => this.#hasRoom(entry.bytes));
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return;
    this.#take(next.bytes);
    next.enter();
  }
}

function isLarge(bytes: number): boolean {
  return bytes > limits.smallLogBytesMax;
}
