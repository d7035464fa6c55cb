import { limits } from '../limits.ts';
import { aliasesMax, BundleExports, type Named } from './bundle-exports.ts';
import { SourcePlaces } from './source-places.ts';

/** Where a function that a program exports is written, its doc comment included. */
export interface FunctionLines {
  /** As the program exports it; that of a submodule has namespaces in front: `guilds.join`. */
  readonly name: string;
  readonly file: string;
  /** Counted from 1. */
  readonly first: number;
  readonly last: number;
}

/**
 * Finds the lines of what a program exports. `text` is one ES module as printed by the bundler,
 * `map` its source map with the source texts.
 *
 * The bundler prints one statement after the other, so a declaration ends where the next statement
 * begins; the last of its places that the map knows is the last line of it in the source.
 */
export function functionLines(text: string, map: string): readonly FunctionLines[] {
  const places = new SourcePlaces(text, map);
  const exported = new BundleExports(text, places);
  const named = [...exported.functions, ...exported.submoduleFunctions(limits.sourceSubmodulesMax)];
  const declared = named.map(([name, one]) => [name, declarationOf(one, exported)] as const);
  const starts = declared.map(([, { nameOffset }]) => places.lineOf(nameOffset));
  const members = named.map(([, { nameOffset }]) => places.lineOf(nameOffset));
  const ends = new Ends(places, new Set([...starts, ...members]));
  return declared.flatMap(([name, { nameOffset }], at) => {
    const begin = places.beginOf(nameOffset);
    if (begin === undefined) return [];
    const { file, line: first } = begin;
    return [{ name, file, first, last: ends.of(starts[at] ?? 1, begin) }];
  });
}

/** Where the value of a name is written that stands for another one. */
function declarationOf(named: Named, exported: BundleExports): Named {
  let found = named;
  for (let count = 0; count < aliasesMax; count += 1) found = exported.aliasOf(found) ?? found;
  return found;
}

class Ends {
  readonly #places: SourcePlaces;
  /** Lines of the bundle on which functions begin, those of groups among them. */
  readonly #starts: ReadonlySet<number>;

  constructor(places: SourcePlaces, starts: ReadonlySet<number>) {
    this.#places = places;
    this.#starts = starts;
  }

  /** The last line in the source of what begins on this line of the bundle. */
  of(start: number, begin: { readonly file: string; readonly line: number }): number {
    let last = begin.line;
    for (let line = start; line <= this.#places.lineCount; line += 1) {
      if (line > start && (this.#starts.has(line) || this.#places.isOutside(line, start))) break;
      const end = this.#places.endOfLine(line);
      if (end?.file === begin.file) last = Math.max(last, end.line);
    }
    return last;
  }
}
