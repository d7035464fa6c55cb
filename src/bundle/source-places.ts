import {
  readSourceMap,
  type SourceMap,
  type SourcePosition,
} from '../module/javascript/source-map.ts';
import { docCommentBefore, docCommentPlace } from './doc-text.ts';
import { TextLines } from './text-lines.ts';

/** Maps offsets in a bundle to offsets in its sources. */
export class SourcePlaces {
  readonly #map: SourceMap;
  readonly #bundle: TextLines;
  readonly #sources: ReadonlyMap<string, TextLines>;

  /** `map` holds the texts of the sources. */
  constructor(bundle: string, map: string) {
    this.#map = readSourceMap(map);
    this.#bundle = new TextLines(bundle);
    const { sources, sourcesContent } = JSON.parse(map) as {
      sources: readonly string[];
      sourcesContent: readonly (string | null)[];
    };
    this.#sources = new Map(
      sources.map((name, at) => [name, new TextLines(sourcesContent[at] ?? '')]),
    );
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

  /** File and line of the name that begins at `offset`, or of the doc comment before it. */
  beginOf(offset: number): { readonly file: string; readonly line: number } | undefined {
    const position = this.#map.originalPosition(...this.#bundle.position(offset));
    const lines = position && this.#sources.get(position.source);
    if (lines === undefined || position === undefined) return undefined;
    const { source: file, line, column } = position;
    const comment = docCommentPlace(lines.text, lines.offset(line, column));
    return { file, line: comment === undefined ? line : lines.position(comment.start)[0] };
  }

  /** Lines of the bundle. */
  get lineCount(): number {
    return this.#bundle.count;
  }

  /** The line of the bundle, from 1. */
  lineOf(offset: number): number {
    return this.#bundle.position(offset)[0];
  }

  /** File and line of the last thing on a line of the bundle. */
  endOfLine(line: number): { readonly file: string; readonly line: number } | undefined {
    const position = this.#map.originalPosition(line, Number.MAX_SAFE_INTEGER);
    return position && { file: position.source, line: position.line };
  }

  /** Whether what began on the line `start` of the bundle has ended before this line of it. */
  isOutside(line: number, start: number): boolean {
    const text = this.#bundle.line(line);
    // The end of a group of functions; their own ends are indented.
    if (/^\}/.test(text)) return /^\s/.test(this.#bundle.line(start));
    if (!/^[\w$\u0080-\uffff]/.test(text)) return false;
    // Another statement, or a line of a text: the bundler maps that one to what is before it.
    const own = this.#map.originalPosition(line, 1);
    const before = this.#map.originalPosition(line - 1, Number.MAX_SAFE_INTEGER);
    return own !== undefined && !isSame(own, before);
  }

  /** The doc comment before the name that begins at `offset`. */
  commentBefore(offset: number): string | undefined {
    const place = this.of(offset);
    return place && docCommentBefore(place.source, place.offset);
  }
}

function isSame(one: SourcePosition, other: SourcePosition | undefined): boolean {
  return one.line === other?.line && one.column === other.column && one.source === other.source;
}
