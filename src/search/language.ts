import type { Language } from '../schema/languages.ts';
import { stemEnglish } from './stem-english.ts';
import {
  stemDutch,
  stemFrench,
  stemGerman,
  stemItalian,
  stemPortuguese,
  stemSpanish,
} from './stem-light.ts';

/**
 * What a word is compared by. A stemmer takes a folded word and never changes its first character,
 * so that most other words need no stemmer. Absent: the word itself.
 */
export type Stemmer = (word: string) => string;

const stemmers: Readonly<Record<Language, Stemmer | undefined>> = {
  simple: undefined,
  english: stemEnglish,
  german: stemGerman,
  french: stemFrench,
  spanish: stemSpanish,
  italian: stemItalian,
  portuguese: stemPortuguese,
  dutch: stemDutch,
};

export function stemmerOf(language: Language): Stemmer | undefined {
  return stemmers[language];
}
