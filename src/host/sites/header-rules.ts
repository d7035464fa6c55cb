import { refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { isProxyOrder } from '../../protocol/response-headers.ts';

/** Headers that the rules of a `_headers` file add to answers. */
export interface HeaderRules {
  /** Headers for a path, by lower-case name; those of several rules are joined by commas. */
  headersFor(path: string): ReadonlyMap<string, string>;
}

interface Rule {
  readonly line: number;
  readonly pattern: RegExp;
  readonly headers: [name: string, value: string][];
}

/**
 * Reads the text of a `_headers` file: a line with a path, then indented lines `name: value`. In a
 * path `*` stands for any characters, once, and `:name` for one part. Throws `Refusal`
 * `publish.invalid` with the number of the line.
 */
export function parseHeaderRules(text: string): HeaderRules {
  if (Buffer.byteLength(text) > limits.siteHeadersBytesMax) {
    throw fault(`it has more than ${limits.siteHeadersBytesMax} bytes`);
  }
  const rules: Rule[] = [];
  for (const [at, raw] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = at + 1;
    const content = raw.trim();
    if (content === '' || content.startsWith('#')) continue;
    if (/^\s/.test(raw)) addHeader(rules.at(-1), content, line);
    else rules.push(newRule(content, line));
    if (rules.length > limits.siteHeaderRulesMax) {
      throw fault(`more than ${limits.siteHeaderRulesMax} rules`, line);
    }
  }
  for (const { headers, line } of rules) if (headers.length === 0) throw fault('no header', line);
  return { headersFor: (path) => headersOf(rules, path) };
}

function headersOf(rules: readonly Rule[], path: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { pattern, headers } of rules) {
    if (!pattern.test(path)) continue;
    for (const [name, value] of headers) {
      const before = found.get(name);
      found.set(name, before === undefined ? value : `${before}, ${value}`);
    }
  }
  return found;
}

function newRule(content: string, line: number): Rule {
  if (!content.startsWith('/') || /\s/.test(content)) {
    throw fault(`\`${shown(content)}\` is not a path, such as /assets/*`, line);
  }
  if (content.split('*').length > 2) throw fault('`*` can stand once in a path', line);
  // No part can match in two ways but the one `*`, so matching takes linear time.
  const source = content
    .split(/(\*|\/:[A-Za-z]\w*(?=\/|$))/)
    .map((part) => {
      if (part === '*') return '.*';
      return part.startsWith('/:') ? '/[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
    })
    .join('');
  return { line, pattern: new RegExp(`^${source}$`), headers: [] };
}

function addHeader(rule: Rule | undefined, content: string, line: number): void {
  if (rule === undefined) throw fault('a header stands before the first path', line);
  const [, given = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*)$/.exec(content) ?? [];
  if (given === '') throw fault(`\`${shown(content)}\` is not a header, such as name: value`, line);
  const name = given.toLowerCase();
  if (!/^[\t\x20-\x7e]+$/.test(value)) {
    throw fault(`the value of \`${name}\` is empty, or not of ASCII characters`, line);
  }
  if (forbidden.has(name) || isProxyOrder(name))
    throw fault(`\`${name}\` cannot be set here`, line);
  if (ofService.has(name)) throw fault(`\`${name}\` is set by the service`, line);
  if (rule.headers.length >= limits.siteRuleHeadersMax) {
    throw fault(`more than ${limits.siteRuleHeadersMax} headers for one path`, line);
  }
  rule.headers.push([name, value]);
}

/** These reach beyond the page, or would end what holds it. */
const forbidden: ReadonlySet<string> = new Set([
  'content-security-policy',
  'service-worker-allowed',
  'set-cookie',
  'clear-site-data',
  'strict-transport-security',
]);

/** These say what is sent and how, which only the service knows. */
const ofService: ReadonlySet<string> = new Set([
  'accept-ranges',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'x-content-type-options',
]);

function fault(what: string, line?: number) {
  const place = line === undefined ? '_headers' : `_headers, line ${line}`;
  return refusal('publish.invalid', `${place}: ${what}`);
}

function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
