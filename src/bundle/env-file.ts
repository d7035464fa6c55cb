import { parseEnv } from 'node:util';

/** The file in a module project's folder with the values that its tests read. */
export const envFileName = '.env.reducerdb';

/**
 * The values in a file such as `.env.reducerdb`, in the platform's format: a line is `NAME=value`,
 * with `export` in front if need be; `#` begins a comment; a value in quotes may have several
 * lines, and within double quotes `\n` is one. `envFileFault` finds what is none of this.
 */
export function parseEnvFile(text: string): readonly (readonly [name: string, value: string])[] {
  return Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? '']);
}

/**
 * The first line that the platform would pass over or cut short, with the reason; `undefined`:
 * there is none. Nothing of the line is quoted: it may be a secret.
 */
export function envFileFault(text: string): string | undefined {
  for (let at = 0, line = 1; at < text.length; ) {
    const start = /^\s*(?:#|$|(?:export\s+)?[^\s=#]+\s*=\s*(["'`]?))/.exec(lineAt(text, at));
    if (start === null) return `line ${line}: this is not NAME=value`;
    const [all, quote = ''] = start;
    const close = quote === '' ? at : text.indexOf(quote, at + all.length);
    if (close < 0) return `line ${line}: the quote is not closed`;
    const rest = lineAt(text, close);
    line += text.slice(at, close).split('\n').length - 1;
    const isClean = quote === '' || /^.\s*(?:#|$)/.test(rest);
    if (!isClean) return `line ${line}: something follows the quote`;
    at = close + rest.length + 1;
    line += 1;
  }
  return undefined;
}

/** From there to the end of the line. */
function lineAt(text: string, at: number): string {
  const end = text.indexOf('\n', at);
  return text.slice(at, end < 0 ? undefined : end);
}
