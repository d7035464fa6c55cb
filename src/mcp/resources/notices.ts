/**
 * Throttles change notices: the first is sent at once, and further ones within `millis` are
 * collected and sent together at the end, each once. The last change is never dropped.
 */
export class Notices {
  readonly #millis: number;
  readonly #tell: (what: string) => void;
  readonly #waiting = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(millis: number, tell: (what: string) => void) {
    this.#millis = millis;
    this.#tell = tell;
  }

  note(what: string): void {
    this.#waiting.add(what);
    if (this.#timer === undefined) this.#tellAll();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #tellAll(): void {
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    const told = [...this.#waiting];
    this.#waiting.clear();
    this.#timer = setTimeout(() => this.#tellAll(), this.#millis);
    for (const what of told) this.#tell(what);
  }
}
