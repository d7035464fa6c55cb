import { aliasesMax, BundleExports, type Named } from './bundle-exports.ts';
import { readDocComment } from './doc-text.ts';
import type { EntityDocs, ProgramDocs } from './program-docs.ts';
import { SourcePlaces } from './source-places.ts';

/**
 * Collects the doc comments of a module's exports and tables, under their names in its definition.
 * `text` is one ES module as printed by the bundler, `map` its source map with the source texts:
 * it leads from the exports of the bundle to the places in the sources that the comments precede.
 */
export function collectDocs(text: string, map: string): ProgramDocs {
  const places = new SourcePlaces(text, map);
  const exported = new BundleExports(text, places);
  const reader = new DocReader(exported, places);
  const functions = exported.functions.map(
    ([name, named]) => [name, reader.docsOf(named)] as const,
  );
  const tables = exported.objects(exported.main)[0] ?? [];
  return {
    functions: spoken(functions),
    tables: spoken(tables.map((entry) => [entry.key, reader.docsOf(entry)])),
  };
}

/** Only the entities that have a comment. */
function spoken(entities: Iterable<readonly [string, EntityDocs]>): ProgramDocs['functions'] {
  return new Map([...entities].filter(([, { text, parts }]) => text !== '' || parts.size > 0));
}

class DocReader {
  readonly #exports: BundleExports;
  readonly #places: SourcePlaces;

  constructor(exported: BundleExports, places: SourcePlaces) {
    this.#exports = exported;
    this.#places = places;
  }

  /** A comment before the name takes precedence over one where its value is declared. */
  docsOf(named: Named, depth = 0): EntityDocs {
    const comment = this.#places.commentBefore(named.nameOffset);
    const own = comment === undefined ? nothing : readDocComment(comment);
    const alias = depth < aliasesMax ? this.#exports.aliasOf(named) : undefined;
    const inner = alias === undefined ? this.#partsOf(named) : this.docsOf(alias, depth + 1);
    return { text: own.text || inner.text, parts: new Map([...inner.parts, ...own.parts]) };
  }

  /** Comments before parameters and columns, where they are written out. */
  #partsOf(named: Named): EntityDocs {
    const parts = new Map<string, string>();
    for (const { key, nameOffset } of this.#exports.objects(named).flat()) {
      const comment = this.#places.commentBefore(nameOffset);
      const text = comment === undefined ? '' : readDocComment(comment).text;
      if (text !== '') parts.set(key, text);
    }
    return { text: '', parts };
  }
}

const nothing: EntityDocs = { text: '', parts: new Map() };
