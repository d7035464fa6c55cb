import { readDocComment } from './doc-text.ts';
import { leadingObjects } from './object-entries.ts';
import type { EntityDocs, ProgramDocs } from './program-docs.ts';
import { SourcePlaces } from './source-places.ts';

/**
 * Collects the doc comments of a module's exports and tables, under their names in its definition.
 * `text` is one ES module as printed by the bundler, `map` its source map with the source texts.
 *
 * The bundler, which has just parsed the sources, does the work: in its output every declaration of
 * every file has a unique name, and the export clause is at the end. From there the source map
 * leads to the places in the sources that the comments precede. So it does not matter how an export
 * came about, and text that is not code is never examined.
 */
export function collectDocs(text: string, map: string): ProgramDocs {
  const reader = new BundleReader(text, map);
  const functions = new Map<string, EntityDocs>();
  let tables: ReadonlyMap<string, EntityDocs> = new Map();
  for (const [name, local] of exportsOf(text)) {
    if (name === 'default') tables = reader.tables(local);
    else for (const [key, docs] of reader.exported(name, local)) functions.set(key, docs);
  }
  return { functions: spoken(functions), tables: spoken(tables) };
}

/** Only the entities that have a comment. */
function spoken(entities: ProgramDocs['functions']): ProgramDocs['functions'] {
  return new Map([...entities].filter(([, { text, parts }]) => text !== '' || parts.size > 0));
}

/** Exported names and their local names, from the export clause that ends a bundle. */
function exportsOf(text: string): [name: string, local: string][] {
  const clause = text.slice(text.lastIndexOf('\nexport {\n'));
  const pattern = /^ {2}([^\s,"]+)(?: as ([^\s,"]+))?,?$/gm;
  return [...clause.matchAll(pattern)].map(([, local = '', name = local]) => [name, local]);
}

/** A named declaration. Offsets are into the bundle. */
interface Named {
  readonly nameOffset: number;
  readonly valueOffset: number;
}

/** Longest chain of aliases that is followed. */
const aliasesMax = 8;

class BundleReader {
  readonly #text: string;
  readonly #places: SourcePlaces;
  readonly #declarations = new Map<string, Named>();

  constructor(text: string, map: string) {
    this.#text = text;
    this.#places = new SourcePlaces(text, map);
    for (const { 0: whole, 1: name = '', index } of text.matchAll(declarationPattern)) {
      // A line of a string can look like a declaration; the map does not contain it.
      if (this.#places.of(index) === undefined) continue;
      const nameOffset = index + whole.indexOf(name, 3);
      this.#declarations.set(name, { nameOffset, valueOffset: index + whole.length });
    }
  }

  /** The documented tables of the schema that `local` names. */
  tables(local: string): ReadonlyMap<string, EntityDocs> {
    const entries = this.#objects(this.#declarations.get(local))[0] ?? [];
    return new Map(entries.map((entry) => [entry.key, this.#docsOf(entry)]));
  }

  /** The functions that `local`, exported as `name`, adds: itself, or the members of a group. */
  exported(name: string, local: string): [string, EntityDocs][] {
    const declaration = this.#declarations.get(local);
    return declaration === undefined ? [] : this.#exports(name, declaration, 0);
  }

  #exports(name: string, named: Named, depth: number): [string, EntityDocs][] {
    const value = this.#resolved(named);
    groupPattern.lastIndex = value.valueOffset;
    if (!groupPattern.test(this.#text) || depth > aliasesMax) return [[name, this.#docsOf(named)]];
    const members = this.#objects(value)[0] ?? [];
    return members.flatMap((member) => this.#exports(member.key, member, depth + 1));
  }

  /** A comment before the name takes precedence over one where its value is declared. */
  #docsOf(named: Named, depth = 0): EntityDocs {
    const comment = this.#places.commentBefore(named.nameOffset);
    const own = comment === undefined ? nothing : readDocComment(comment);
    const alias = depth < aliasesMax ? this.#aliasOf(named) : undefined;
    const inner = alias === undefined ? this.#partsOf(named) : this.#docsOf(alias, depth + 1);
    return { text: own.text || inner.text, parts: new Map([...inner.parts, ...own.parts]) };
  }

  /** Comments before parameters and columns, where they are written out. */
  #partsOf(named: Named): EntityDocs {
    const parts = new Map<string, string>();
    for (const { key, nameOffset } of this.#objects(named).flat()) {
      const comment = this.#places.commentBefore(nameOffset);
      const text = comment === undefined ? '' : readDocComment(comment).text;
      if (text !== '') parts.set(key, text);
    }
    return { text: '', parts };
  }

  #objects(named: Named | undefined): ReturnType<typeof leadingObjects> {
    if (named === undefined) return [];
    return leadingObjects(this.#text, this.#resolved(named).valueOffset, (name) => {
      const declaration = this.#declarations.get(name);
      return declaration && this.#resolved(declaration).valueOffset;
    });
  }

  /** The declaration whose value a name stands for. */
  #resolved(named: Named): Named {
    let found = named;
    for (let count = 0; count < aliasesMax; count += 1) found = this.#aliasOf(found) ?? found;
    return found;
  }

  #aliasOf({ valueOffset }: Named): Named | undefined {
    aliasPattern.lastIndex = valueOffset;
    const [name = ''] = aliasPattern.exec(this.#text) ?? [];
    return this.#declarations.get(name);
  }
}

const nothing: EntityDocs = { text: '', parts: new Map() };

const declarationPattern = /^(?:var|let|const) ([^\s=;,]+) = /gm;
/** A value that is only a name. */
const aliasPattern = /[\w$\u0080-\uffff]+(?=\s*[,;}])/y;
const groupPattern = /[\w$\u0080-\uffff]+\.exportGroup\(/y;
