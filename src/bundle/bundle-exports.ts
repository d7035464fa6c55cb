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
  /** Exported and local names of files that are imported as a whole, by the name of that whole. */
  readonly #namespaces = new Map<string, readonly Exported[]>();

  /** `places` is that of the bundle `text`: one ES module as printed by the bundler. */
  constructor(text: string, places: SourcePlaces) {
    this.#text = text;
    for (const { 0: whole, 1: name = '', index } of text.matchAll(declarationPattern)) {
      // A line of a string can look like a declaration; the map does not contain it.
      if (places.of(index) === undefined) continue;
      const nameOffset = index + whole.indexOf(name, 3);
      this.#declarations.set(name, { nameOffset, valueOffset: index + whole.length });
    }
    for (const [, name = '', lines = ''] of text.matchAll(namespacePattern)) {
      const exports = [...lines.matchAll(namespaceLine)];
      this.#namespaces.set(
        name,
        exports.map(([, key = '', local = '']) => [key, local]),
      );
    }
  }

  /** The default export, if it has a name. */
  get main(): Named | undefined {
    return this.#mainOf(this.#clause());
  }

  /** The other exports by name: for a group, its members. */
  get functions(): [name: string, declared: Named][] {
    return this.#functionsOf(this.#clause());
  }

  /**
   * The exports of submodules by full name, such as `guilds.join`: of modules that are imported as
   * a whole, and that the schema of the module around them has. At most `modulesMax` are looked at:
   * one can have itself, in a program that was not made by our bundler.
   */
  submoduleFunctions(modulesMax: number): [name: string, declared: Named][] {
    const found: [string, Named][] = [];
    const waiting = this.#submodulesOf('', this.#clause());
    for (const [count, { prefix, exports }] of waiting.entries()) {
      if (count >= modulesMax) break;
      for (const [name, named] of this.#functionsOf(exports)) found.push([prefix + name, named]);
      // Grows while it is read.
      if (waiting.length < modulesMax) waiting.push(...this.#submodulesOf(prefix, exports));
    }
    return found;
  }

  #mainOf(exports: readonly Exported[]): Named | undefined {
    const local = exports.find(([name]) => name === 'default')?.[1];
    return local === undefined ? undefined : this.#declarations.get(local);
  }

  #functionsOf(exports: readonly Exported[]): [string, Named][] {
    return exports.flatMap(([name, local]) => {
      const declaration = this.#declarations.get(local);
      if (name === 'default' || declaration === undefined) return [];
      return this.#members(name, declaration, 0);
    });
  }

  /** The files that are imported as a whole among the entries of a module's schema. */
  #submodulesOf(prefix: string, exports: readonly Exported[]): Submodule[] {
    const [entries = []] = this.objects(this.#mainOf(exports));
    return entries.flatMap(({ key, valueOffset }) => {
      const inner = this.#namespaces.get(this.#nameAt(valueOffset));
      const isShort = prefix.length + key.length < prefixCharactersMax;
      return inner && isShort ? [{ prefix: `${prefix}${key}.`, exports: inner }] : [];
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
    return this.#declarations.get(this.#nameAt(valueOffset));
  }

  /** The name that is all of the value at an offset; else empty. */
  #nameAt(offset: number): string {
    aliasPattern.lastIndex = offset;
    return aliasPattern.exec(this.#text)?.[0] ?? '';
  }

  /** Exported names and their local names, from the export clause that ends a bundle. */
  #clause(): Exported[] {
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

/** Longest chain of namespaces that is followed. */
const prefixCharactersMax = 1_024;

type Exported = [name: string, local: string];

/** A module in the schema of another one. */
interface Submodule {
  readonly prefix: string;
  readonly exports: readonly Exported[];
}

/** What the bundler prints for a file that is imported as a whole. */
const namespacePattern =
  /^var ([^\s=;,]+) = \{\};\n__export\d*\(\1, \{\n((?: {2}[^\n]*\n)+)\}\);$/gm;
const namespaceLine = /^ {2}([^\s,:"]+): \(\) => ([^\s,"]+),?$/gm;
const declarationPattern = /^(?:var|let|const) ([^\s=;,]+) = /gm;
/** A value that is only a name. */
const aliasPattern = /[\w$\u0080-\uffff]+(?=\s*[,;}])/y;
const groupPattern = /[\w$\u0080-\uffff]+\.exportGroup\(/y;
