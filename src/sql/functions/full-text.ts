/** Functions of full-text search; what words, queries and ranks are is in the room `search`. */
import { isLanguage, languages, plainLanguage } from '../../schema/languages.ts';
import { QueryError } from '../../search/query.ts';
import { Search } from '../../search/search.ts';
import { searchLimits } from '../../search-limits.ts';
import { invalid, SqlFailure } from '../failure.ts';
import { family } from './family.ts';
import type { FunctionFamily, QueryValue } from './function.ts';
import { checkTextLength } from './text-length.ts';
import { scalarTypes } from './value-kind.ts';

const { string, bool } = scalarTypes;

/** What `highlight` puts around words if it is given no marks. */
export const highlightMark = '**';

/**
 * Compiled searches, the one used last at the end. A statement has the same one for all its rows.
 */
const known = new Map<string, Search>();
let last:
  | { readonly query: QueryValue; readonly language: QueryValue; readonly search: Search }
  | undefined;

/** Throws `SqlFailure` for an unknown language, or a query beyond its bounds. */
export function searchOf(query: QueryValue, language: QueryValue = plainLanguage): Search {
  if (last !== undefined && last.query === query && last.language === language) return last.search;
  const key = `${language} ${query}`;
  const search = known.get(key) ?? compiled(query as string, language as string);
  known.delete(key);
  known.set(key, search);
  for (const oldest of known.keys()) {
    if (known.size <= searchLimits.searchQueriesKeptMax) break;
    known.delete(oldest);
  }
  last = { query, language, search };
  return search;
}

function compiled(query: string, language: string): Search {
  if (!isLanguage(language)) {
    const list = languages.map((name) => `'${name}'`).join(', ');
    throw invalid(`There is no language '${language}' of search; use one of ${list}`);
  }
  try {
    return new Search(query, language);
  } catch (error) {
    if (error instanceof QueryError) throw invalid(error.message);
    throw error;
  }
}

function isSearch(query: QueryValue | undefined, language: QueryValue | undefined): boolean {
  try {
    searchOf(query ?? null, language);
    return true;
  } catch (error) {
    if (error instanceof SqlFailure) return false;
    throw error;
  }
}

const search = family(
  'search',
  ['search(text String, query String [, language String]) → Bool'],
  [
    {
      parameters: [string, string, string],
      optionalCount: 1,
      result: bool,
      canRaise: true,
      // A query that is written out, and within its bounds, cannot.
      canRaiseWith: ([, query, ...languages]) => {
        const all = [query, ...languages];
        return !all.every((value) => typeof value === 'string') || !isSearch(query, languages[0]);
      },
      evaluate: ([text, query, language]) =>
        searchOf(query ?? null, language).matches(text as string),
    },
  ],
);

const highlight = family(
  'highlight',
  [
    'highlight(text String, query String) → String',
    'highlight(text String, query String, before String, after String [, language String])' +
      ' → String',
  ],
  [
    {
      parameters: [string, string],
      result: string,
      canRaise: true,
      evaluate: ([text, query]) =>
        highlighted(text as string, searchOf(query ?? null), highlightMark, highlightMark),
    },
    {
      parameters: [string, string, string, string, string],
      optionalCount: 1,
      result: string,
      canRaise: true,
      evaluate: ([text, query, before, after, language]) =>
        highlighted(
          text as string,
          searchOf(query ?? null, language),
          before as string,
          after as string,
        ),
    },
  ],
);

function highlighted(text: string, found: Search, before: string, after: string): string {
  const added = found.marks(text).length * (before.length + after.length);
  checkTextLength(text.length + added);
  return found.marked(text, before, after);
}

/** It needs the table of its text: see `check/type-rank.ts`. */
const rank: FunctionFamily = {
  name: 'rank',
  signatures: ['rank(text String, query String [, language String]) → F64'],
  resolve: () => undefined,
};

export const fullTextFunctions: readonly FunctionFamily[] = [search, highlight, rank];
