import { describe, expect, it } from 'vitest';
import { searchLimits } from '../search-limits.ts';
import { parseQuery, QueryError, type QueryNode } from './query.ts';

/** A query with all its parentheses. */
function shown(text: string): string {
  const { root, words } = parseQuery(text);
  const word = (number: number): string => {
    const { word: written, isPrefix } = words[number] ?? { word: '?', isPrefix: false };
    return isPrefix ? `${written}*` : written;
  };
  const show = (node: QueryNode): string => {
    switch (node.kind) {
      case 'word':
        return word(node.word);
      case 'phrase':
        return `"${node.words.map((part) => word(part.word)).join(' ')}"`;
      case 'not':
        return `!${show(node.part)}`;
      case 'all':
        return `(${node.parts.map(show).join(' & ')})`;
      case 'any':
        return `(${node.parts.map(show).join(' | ')})`;
    }
  };
  return root === undefined ? '' : show(root);
}

describe('[ease 3.11] the text of a search', () => {
  it.each([
    ['red fox', '(red & fox)'],
    ['red AND fox', '(red & fox)'],
    ['red OR blue fox', '(red | (blue & fox))'],
    ['(red OR blue) fox', '((red | blue) & fox)'],
    ['red NOT fox', '(red & !fox)'],
    ['red -fox -"blue cat"', '(red & !fox & !"blue cat")'],
    ['red -(fox OR cat)', '(red & !(fox | cat))'],
    ['NOT NOT red', '!!red'],
    ['"red fox" run*', '("red fox" & run*)'],
    ['"red fo*"', '"red fo*"'],
    ['wi-fi', '"wi fi"'],
    ['and or not', '(and & or & not)'],
    ['Foxes foxes', '(foxes & foxes)'],
    ['東京都', '"東京 京都"'],
    ['東', '東*'],
  ])('%s', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it.each([
    ['', ''],
    [' * ! ', ''],
    ['"red fox', '"red fox"'],
    ['(red (fox', '(red & fox)'],
    ['red) fox', '(red & fox)'],
    [')))', ''],
    ['red AND', 'red'],
    ['OR red OR OR', 'red'],
    ['red NOT', 'red'],
    ['NOT', ''],
    ['red - fox', '(red & fox)'],
    ['"" ()', ''],
    ['"red"-fox', '(red & fox)'],
  ])('leaves out what has no meaning: %s', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it('is bounded', () => {
    const { searchQueryWordsMax: words, searchQueryDepthMax: depth } = searchLimits;
    const many = Array.from({ length: words + 1 }, (_, at) => `w${at}`);
    expect(() => parseQuery(many.slice(1).join(' '))).not.toThrow();
    expect(() => parseQuery(many.join(' '))).toThrow(QueryError);
    expect(() => parseQuery(`"${'a '.repeat(words + 1)}"`)).toThrow(/more than 64 words/);
    expect(() => parseQuery(`${'('.repeat(depth)}a`)).not.toThrow();
    expect(() => parseQuery(`${'('.repeat(depth + 2)}a`)).toThrow(/inside each other/);
    expect(() => parseQuery(`${'NOT '.repeat(depth + 2)}a`)).toThrow(QueryError);
    expect(() => parseQuery('-'.repeat(5_000))).toThrow(/more than 4096 characters/);
  });
});
