import type { SourceFile } from './source-file.ts';

/**
 * The rules of `docs/spec` and the tests that name them. A rule is a numbered heading, table row,
 * paragraph or list item of `docs/spec/NAME.md`; a test names it at the start of its title, as in
 * `[sql 6.3] …`, `[sql 10.3, ease 3.9] …` or `[durability P1-P4] …`.
 */

export interface Rule {
  /** File name without its ending, for example `sql`. */
  readonly document: string;
  /** For example `6.3`, `B5`. */
  readonly id: string;
}

const id = String.raw`[A-Z]?\d{1,2}(?:\.\d+)*`;
const ruleForms = [
  new RegExp(String.raw`^#{2,5} (${id})\.? `),
  new RegExp(String.raw`^\| (${id}) \|`),
  new RegExp(String.raw`^(?:[-*] )?\*\*(${id})\*\*`),
];

/** All rules of one document, in its order. */
export function rulesOf({ path, text }: SourceFile): Rule[] {
  const document = documentName(path);
  return text.split('\n').flatMap((line) => {
    const found = ruleForms.map((form) => form.exec(line)?.[1]).find((one) => one !== undefined);
    return found === undefined ? [] : [{ document, id: found }];
  });
}

/** Ids that stand twice in a document, as `sql 6.3`. */
export function twiceDefined(rules: readonly Rule[]): string[] {
  const names = rules.map(nameOf);
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

/** Ids in titles of tests that no rule has: file, line and id. */
export function unknownIds(tests: readonly SourceFile[], rules: readonly Rule[]): string[] {
  const known = new Set(rules.map(nameOf));
  const documents = new Set(rules.map(({ document }) => document));
  return tests.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, at) =>
      idsOfTitle(line, documents)
        .filter((name) => !known.has(name))
        .map((name) => `${path}:${at + 1}: no rule [${name}] in docs/spec`),
    ),
  );
}

/**
 * Rules that no test names, as `sql 6.3`. A heading counts as tested when a test names it or a
 * rule below it.
 */
export function untestedRules(tests: readonly SourceFile[], rules: readonly Rule[]): string[] {
  const documents = new Set(rules.map(({ document }) => document));
  const named = new Set(
    tests.flatMap(({ text }) => text.split('\n').flatMap((line) => idsOfTitle(line, documents))),
  );
  const covers = (name: string) =>
    named.has(name) || [...named].some((one) => one.startsWith(`${name}.`));
  return rules.map(nameOf).filter((name) => !covers(name));
}

/** What a line with the title of a test names: `sql 6.3`, or words that are no id. */
function idsOfTitle(line: string, documents: ReadonlySet<string>): string[] {
  const [, first = '', list = ''] = /['"`]\[([a-z][a-z-]*) ([\w., -]+)\]/.exec(line) ?? [];
  if (!documents.has(first)) return [];
  let document = first;
  return list.split(', ').flatMap((part) => {
    const words = part.split(' ');
    if (words.length > 1) document = words[0] ?? document;
    return idsInRange(words.at(-1) ?? '').map((one) => `${document} ${one}`);
  });
}

/** `P1-P4` is P1, P2, P3 and P4. */
function idsInRange(text: string): string[] {
  const [, letter = '', from, to] = /^([A-Z]?)(\d+)-\1(\d+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) return [text];
  const count = Number(to) - Number(from) + 1;
  return Array.from({ length: count }, (_, at) => `${letter}${Number(from) + at}`);
}

function nameOf({ document, id: own }: Rule): string {
  return `${document} ${own}`;
}

function documentName(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.md$/, '');
}
