/**
 * Numbers structures: two expressions get the same number exactly if they compute the same, part by
 * part. Finding an expression among many then costs one lookup, whatever their size.
 *
 * Functions are compared by the names and parameters beside them, since each call makes its own.
 */
export class Structures {
  readonly #numbers = new Map<string, number>();
  readonly #known = new WeakMap<object, number>();

  numberOf(structure: object): number {
    const known = this.#known.get(structure);
    if (known !== undefined) return known;
    const text = this.#textOf(structure);
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#known.set(structure, number);
    return number;
  }

  /** The parts of one level, with inner ones given by their numbers. */
  #textOf(structure: object): string {
    if (structure instanceof Uint8Array) return `bytes ${structure.join()}`;
    if (Array.isArray(structure)) return `[${structure.map((part) => this.#partOf(part)).join()}]`;
    const parts = Object.entries(structure).map(([name, part]) => `${name}:${this.#partOf(part)}`);
    return `{${parts.join()}}`;
  }

  #partOf(part: unknown): string {
    switch (typeof part) {
      case 'object':
        return part === null ? 'null' : `#${this.numberOf(part)}`;
      case 'string':
        return JSON.stringify(part);
      case 'function':
        return 'function';
      default:
        return String(part);
    }
  }
}
