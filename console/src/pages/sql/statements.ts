/** What can be read off the text of statements without knowing their grammar. */
import type { Json } from '../../service/json.ts';

/** Strings, quoted names, comments, casts, and what is looked for between them. */
const tokens =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|::|;|\$\d+|:[a-z_]\w*/gi;

export interface Statement {
  readonly text: string;
  /** Where it begins in the whole text. */
  readonly from: number;
}

/** The statements of a text, without the semicolons between them. */
export function statementsOf(text: string): readonly Statement[] {
  const statements: Statement[] = [];
  let from = 0;
  const take = (end: number) => {
    const part = text.slice(from, end);
    const begin = from + (part.length - part.trimStart().length);
    if (part.trim() !== '') statements.push({ text: part.trim(), from: begin });
    from = end + 1;
  };
  for (const match of text.matchAll(tokens)) if (match[0] === ';') take(match.index);
  take(text.length);
  return statements;
}

/** What would run: what is selected, else the statement around the cursor. */
export function statementAt(text: string, selection: readonly [number, number]): Statement | null {
  const [start, end] = selection;
  const selected = text.slice(start, end);
  if (selected.trim() !== '') {
    const [first] = statementsOf(selected);
    return first === undefined ? null : { text: first.text, from: first.from + start };
  }
  const all = statementsOf(text);
  return all.find(({ from, text: own }) => start <= from + own.length + 1) ?? all.at(-1) ?? null;
}

/** The parameters of a statement, each once: `$1`, or `name` for `:name`. */
export function parametersOf(sql: string): readonly string[] {
  const names = [...sql.matchAll(tokens)]
    .map(([token]) => token)
    .filter((token) => /^(\$\d|:[a-z_])/i.test(token) && token.toLowerCase() !== ':sender')
    .map((token) => (token.startsWith(':') ? token.slice(1) : token));
  return [...new Set(names)].sort((one, other) =>
    one.localeCompare(other, 'en', { numeric: true }),
  );
}

/** Values as the service takes them: a list for `$1`, `$2`, …, an object for names. */
export function parameterValues(
  names: readonly string[],
  texts: Readonly<Record<string, string>>,
): readonly Json[] | { readonly [name: string]: Json } | undefined {
  if (names.length === 0) return undefined;
  if (names.every((name) => name.startsWith('$'))) {
    const last = Math.max(...names.map((name) => Number(name.slice(1))));
    return Array.from({ length: last }, (_, at) => readValue(texts[`$${at + 1}`] ?? ''));
  }
  return Object.fromEntries(names.map((name) => [name, readValue(texts[name] ?? '')]));
}

/** What is JSON is a value, digits of any length too; everything else is a text. */
function readValue(text: string): Json {
  if (/^-?\d{16,}$/.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** Whether a statement only reads, so that it can be run again and again. */
export function isReading(sql: string): boolean {
  const reads = ['select', 'with', 'values', 'show', 'describe', 'explain'];
  return (
    reads.includes(firstWord(sql)) && !/^explain\s+analyze\s+(insert|update|delete)/i.test(sql)
  );
}

export function isExplain(sql: string): boolean {
  return firstWord(sql) === 'explain';
}

/** In small letters. */
function firstWord(sql: string): string {
  const [, word = ''] = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|\()*([a-z]+)/i.exec(sql) ?? [];
  return word.toLowerCase();
}
