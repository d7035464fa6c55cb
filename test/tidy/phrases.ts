import type { SourceFile } from './source-file.ts';

/** What reads like a translation, and what to write instead; CONTRIBUTING.md has more pairs. */
export const phrases: readonly { readonly bad: RegExp; readonly instead: string }[] = [
  { bad: /\banew\b/i, instead: 'again' },
  { bad: /\bwhoever\b/i, instead: 'anyone who' },
  { bad: /\bupon\b/i, instead: 'on' },
  { bad: /\bfor ever\b/i, instead: 'forever' },
  { bad: /\b(is|are) told\b/i, instead: 'gets, is sent' },
  { bad: /\btakes long\b/i, instead: 'takes a long time' },
];

/** Places where one of the phrases stands: file, line, the phrase and what to write. */
export function foundPhrases(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, at) =>
      phrases.flatMap(({ bad, instead }) => {
        const found = bad.exec(line)?.[0];
        if (found === undefined) return [];
        return [`${path}:${at + 1}: "${found}": write "${instead}"`];
      }),
    ),
  );
}
