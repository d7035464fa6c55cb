/** A text by lines, with JavaScript's line terminators. Positions count from 1. */
export class TextLines {
  readonly text: string;
  #starts: readonly number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get count(): number {
    return this.#lineStarts().length;
  }

  /** The text of a line, without its end. */
  line(line: number): string {
    const starts = this.#lineStarts();
    return this.text.slice(starts[line - 1] ?? 0, starts[line]).replace(/[\r\n\u2028\u2029]+$/, '');
  }

  /** The text of these lines, with their ends. */
  range(first: number, last: number): string {
    const starts = this.#lineStarts();
    return this.text.slice(starts[first - 1] ?? 0, starts[last]);
  }

  offset(line: number, column: number): number {
    return (this.#lineStarts()[line - 1] ?? 0) + column - 1;
  }

  position(offset: number): [line: number, column: number] {
    const starts = this.#lineStarts();
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return [low, offset - (starts[low - 1] ?? 0) + 1];
  }

  #lineStarts(): readonly number[] {
    this.#starts ??= [
      0,
      ...Array.from(this.text.matchAll(/\r\n|[\n\r\u2028\u2029]/g), (end) => {
        return end.index + end[0].length;
      }),
    ];
    return this.#starts;
  }
}
