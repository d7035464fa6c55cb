import type { IndexAlgorithm } from './definition.ts';

/**
 * Says why `name` cannot name an entity, or returns `undefined` when it can. An identifier is
 * in normal form C and reads `_` or XID_Start, then XID_Continue. No name is reserved.
 */
export function identifierProblem(name: string): string | undefined {
  if (name === '') return `${invalid}Empty identifiers are forbidden.`;
  const named = `${invalid}Identifier \`${name}\``;
  if (name !== name.normalize('NFC')) return `${named} ${notNormal} ${unusable}`;
  const [first = '', ...rest] = name;
  if (first !== '_' && !startCharacter.test(first)) {
    return `${named}'s starting character '${first}' ${notStart} ${unusable}`;
  }
  const wrong = rest.find((character) => !continueCharacter.test(character));
  if (wrong !== undefined) {
    return `${named} contains a character '${wrong}' ${notContinue} ${unusable}`;
  }
  return undefined;
}

const invalid = 'module contains invalid identifier: ';
const unusable = 'and cannot be used for entities in a module.';
const notNormal =
  'is not in normalization form C according to Unicode Standard Annex 15 ' +
  '(http://www.unicode.org/reports/tr15/)';
const annex31 = '(according to Unicode Standard Annex 31, https://www.unicode.org/reports/tr31/)';
const notStart = `is neither an underscore ('_') nor a Unicode XID_start character ${annex31}`;
const notContinue = `that is not an XID_continue character ${annex31}`;

const startCharacter = /^\p{XID_Start}$/u;
const continueCharacter = /^\p{XID_Continue}$/u;

/** Names that the host makes up are built from canonical names and never converted again. */

export function generatedIndexName(
  table: string,
  columns: readonly string[],
  algorithm: IndexAlgorithm,
): string {
  return `${[table, ...columns].join('_')}_idx_${algorithm}`;
}

export function generatedConstraintName(table: string, columns: readonly string[]): string {
  return `${[table, ...columns].join('_')}_key`;
}

export function generatedSequenceName(table: string, column: string): string {
  return `${table}_${column}_seq`;
}

export function generatedScheduleName(table: string): string {
  return `${table}_sched`;
}

/** Stands for a column that does not exist; seen in error texts only. */
export function missingColumnName(position: number): string {
  return `col_${position}`;
}
