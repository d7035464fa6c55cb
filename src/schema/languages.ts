/** Languages of text indexes; `simple` compares words as they are written. */
export const languages = [
  'simple',
  'english',
  'german',
  'french',
  'spanish',
  'italian',
  'portuguese',
  'dutch',
] as const;

export type Language = (typeof languages)[number];

export function isLanguage(name: string): name is Language {
  return (languages as readonly string[]).includes(name);
}

/** The option of a text index that names it. */
export const languageOption = 'language';

export const plainLanguage: Language = 'simple';

/** The language of an index with these options. */
export function languageOf(
  options: readonly { readonly name: string; readonly value: string }[],
): Language {
  const named = options.find(({ name }) => name === languageOption)?.value ?? plainLanguage;
  return isLanguage(named) ? named : plainLanguage;
}
