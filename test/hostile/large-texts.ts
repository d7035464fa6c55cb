/** JSON texts of nearly 2 MiB that make whoever reads them work as hard as possible. */

const bytes = 2 * 1024 * 1024 - 2_048;

function filled(before: string, item: string, after: string): string {
  const count = Math.floor((bytes - before.length - after.length) / (item.length + 1));
  return `${before}${Array.from({ length: count }, () => item).join(',')}${after}`;
}

const nested = '['.repeat(100) + ']'.repeat(100);

/** Each is a list of arguments, or none at all. */
export const largeTexts: Readonly<Record<string, string>> = {
  'duplicate keys': filled('[{', '"a":1', '}]'),
  'many objects': filled('[[', '{"a":1}', ']]'),
  'empty lists': filled('[[', '[]', ']]'),
  'small numbers': filled('[[', '1', ']]'),
  'floating numbers': filled('[[', '-1.5e3', ']]'),
  'a number that ends wrong': filled('[[', '1', 'x]]'),
  'short strings': filled('[[', '"ab"', ']]'),
  'escapes of units': `["${'\\u0041'.repeat(bytes / 6 - 2)}"]`,
  'escaped quotes': `["${'\\"'.repeat(bytes / 2 - 3)}"]`,
  'a key of escapes': `[{"${'\\n'.repeat(bytes / 2 - 6)}":1}]`,
  'deep lists': filled('[[', nested, ']]'),
  'too deep': '['.repeat(bytes),
  'a huge integer': `[${'1'.repeat(bytes - 2)}]`,
  blanks: `[${'\n'.repeat(bytes - 3)}x`,
  'a long string': `["${'x'.repeat(bytes - 4)}"]`,
};
