import { leadingObjects } from './object-entries.ts';
import type { SourcePlaces } from './source-places.ts';

/** A named declaration. Offsets are into the bundle. */
export interface Named {
  readonly nameOffset: number;
  readonly valueOffset: number;
}

/** Longest chain of aliases that is followed. */
export const aliasesMax = 8;

/**
 * The exports of a bundle, by the text that the bundler prints.
 *
 * The bundler, which has just parsed the sources, does the work: in its output every declaration of
 * every file has a unique name, and the export clause is at the end. So it does not matter how an
 * export came about, and text that is not code is never examined.
 */
export class BundleExports {
  readonly #text: string;
  readonly #declarations = new Map<string, Named>();

  /** `places` is that of the bundle `text`: one ES module as printed by the bundler. */
  constructor(text: string, places: SourcePlaces) {
    this.#text = text;
    for (const { 0: whole, 1: name = '', index } of text.matchAll(declarationPattern)) {
      // A line of a string can look like a declaration; the map does not contain it.
      if (places.of(index) === undefined) continue;
      const nameOffset = index + whole.indexOf(name, 3);
      this.#declarations.set(name, { nameOffset, valueOffset: index + whole.length });
    }
  }

  /** The default export, if it has a name. */
  get main(): Named | undefined {
    const local = this.#clause().find(([name]) => name === 'default')?.[1];
    return local === undefined ? undefined : this.#declarations.get(local);
  }

  /** The other exports by name: for a group, its members. */
  get functions(): [name: string, declared: Named][] {
    return this.#clause().flatMap(([name, local]) => {
      const declaration = this.#declarations.get(local);
      if (name === 'default' || declaration === undefined) return [];
      return this.#members(name, declaration, 0);
    });
  }

  /** The object literals among the arguments of the call that is the value of a declaration. */
  objects(named: Named | undefined): ReturnType<typeof leadingObjects> {
    if (named === undefined) return [];
    return leadingObjects(this.#text, this.#resolved(named).valueOffset, (name) => {
      const declaration = this.#declarations.get(name);
      return declaration && this.#resolved(declaration).valueOffset;
    });
  }

  /** What the declaration names, if its value is only a name. */
  aliasOf({ valueOffset }: Named): Named | undefined {
    aliasPattern.lastIndex = valueOffset;
    const [name = ''] = aliasPattern.exec(this.#text) ?? [];
    return this.#declarations.get(name);
  }

  /** Exported names and their local names, from the export clause that ends a bundle. */
  #clause(): [name: string, local: string][] {
    const clause = this.#text.slice(this.#text.lastIndexOf('\nexport {\n'));
    const pattern = /^ {2}([^\s,"]+)(?: as ([^\s,"]+))?,?$/gm;
    return [...clause.matchAll(pattern)].map(([, local = '', name = local]) => [name, local]);
  }

  #members(name: string, named: Named, depth: number): [string, Named][] {
    const value = this.#resolved(named);
    groupPattern.lastIndex = value.valueOffset;
    if (!groupPattern.test(this.#text) || depth > aliasesMax) return [[name, named]];
    const members = this.objects(value)[0] ?? [];
    return members.flatMap((member) => this.#members(member.key, member, depth + 1));
  }

  /** The declaration whose value a name stands for. */
  #resolved(named: Named): Named {
    let found = named;
    for (let count = 0; count < aliasesMax; count += 1) found = this.aliasOf(found) ?? found;
    return found;
  }
}

const declarationPattern = /^(?:var|let|const) ([^\s=;,]+) = /gm;
/** A value that is only a name. */
const aliasPattern = /[\w$\u0080-\uffff]+(?=\s*[,;}])/y;
const groupPattern = /[\w$\u0080-\uffff]+\.exportGroup\(/y;
