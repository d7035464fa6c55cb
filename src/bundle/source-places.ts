import { readSourceMap, type SourceMap } from '../module/javascript/source-map.ts';
import { docCommentBefore } from './doc-text.ts';

/** Maps offsets in a bundle to offsets in its sources. */
export class SourcePlaces {
  readonly #map: SourceMap;
  readonly #bundle: Lines;
  readonly #sources: ReadonlyMap<string, Lines>;

  /** `map` holds the texts of the sources. */
  constructor(bundle: string, map: string) {
    this.#map = readSourceMap(map);
    this.#bundle = new Lines(bundle);
    const { sources, sourcesContent } = JSON.parse(map) as {
      sources: readonly string[];
      sourcesContent: readonly (string | null)[];
    };
    this.#sources = new Map(sources.map((name, at) => [name, new Lines(sourcesContent[at] ?? '')]));
  }

  /** `undefined` where the map has no entry. */
  of(offset: number): { readonly source: string; readonly offset: number } | undefined {
    const position = this.#map.originalPosition(...this.#bundle.position(offset));
    const lines = position && this.#sources.get(position.source);
    if (lines === undefined || position === undefined) return undefined;
    return { source: lines.text, offset: lines.offset(position.line, position.column) };
  }

  /** File, line from 1, column from 0, and the line itself. */
  positionOf(
    offset: number,
  ): { file: string; line: number; column: number; lineText: string } | undefined {
    const position = this.#map.originalPosition(...this.#bundle.position(offset));
    const lines = position && this.#sources.get(position.source);
    if (lines === undefined || position === undefined) return undefined;
    const { source: file, line, column } = position;
    return { file, line, column: column - 1, lineText: lines.line(line) };
  }

  /** The doc comment before the name that begins at `offset`. */
  commentBefore(offset: number): string | undefined {
    const place = this.of(offset);
    return place && docCommentBefore(place.source, place.offset);
  }
}

/** A text by lines, with JavaScript's line terminators. Positions count from 1. */
class Lines {
  readonly text: string;
  #starts: readonly number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** The text of a line, without its end. */
  line(line: number): string {
    const starts = this.#lineStarts();
    return this.text.slice(starts[line - 1] ?? 0, starts[line]).replace(/[\r\n\u2028\u2029]+$/, '');
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
