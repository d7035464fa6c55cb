import { encodeSets, percentEncode } from './percent.ts';
import { parseHost } from './url-host.ts';

/** A URL, taken apart. Everything is encoded as it is written. */
export interface UrlParts {
  /** Without the colon. */
  scheme: string;
  username: string;
  password: string;
  /** `undefined`: it has none, as in `mailto:`. */
  host: string | undefined;
  /** Empty: none, or that of the scheme. */
  port: string;
  /** With a slash in front of each segment, unless `isOpaque`. */
  path: string;
  /** The path is one text, as in `mailto:ada@example.com`. */
  isOpaque: boolean;
  query: string | undefined;
  fragment: string | undefined;
}

/** The ports that are left out, by scheme. */
export const specialPorts: Readonly<Record<string, string>> = {
  http: '80',
  https: '443',
  ws: '80',
  wss: '443',
  ftp: '21',
  file: '',
};

export function isSpecial(scheme: string): boolean {
  return Object.hasOwn(specialPorts, scheme);
}

/** Reads a URL, a relative one against `base`; `undefined` if it is not valid. */
export function parseUrl(given: string, base?: UrlParts): UrlParts | undefined {
  const text = trimmed(given).replace(/[\t\n\r]/g, '');
  const [, word] = /^([a-zA-Z][a-zA-Z\d+.-]*):/.exec(text) ?? [];
  if (word === undefined) return base && parseRelative(text, base);
  const scheme = word.toLowerCase();
  const rest = text.slice(word.length + 1);
  if (isSpecial(scheme)) {
    const isRelative = base?.scheme === scheme && !/^[/\\]/.test(rest);
    if (isRelative && !base.isOpaque) return parseRelative(rest, base);
    if (scheme === 'file') return parseFile(rest);
    return parseAuthority(scheme, rest.replace(/^[/\\]+/, ''));
  }
  if (rest.startsWith('//')) return parseAuthority(scheme, rest.slice(2));
  const parts = { ...noParts, scheme, isOpaque: !rest.startsWith('/') };
  return withTail(parts, rest, parts.isOpaque ? undefined : '');
}

/** Without controls and blanks at both ends. */
function trimmed(text: string): string {
  let [from, end] = [0, text.length];
  while (from < end && text.charCodeAt(from) <= 0x20) from += 1;
  while (end > from && text.charCodeAt(end - 1) <= 0x20) end -= 1;
  return text.slice(from, end);
}

const noParts: UrlParts = {
  scheme: '',
  username: '',
  password: '',
  host: undefined,
  port: '',
  path: '',
  isOpaque: false,
  query: undefined,
  fragment: undefined,
};

function parseRelative(text: string, base: UrlParts): UrlParts | undefined {
  if (base.isOpaque) return text.startsWith('#') ? withFragment(base, text.slice(1)) : undefined;
  const { scheme } = base;
  const slashes = isSpecial(scheme) ? /^[/\\]{2}/ : /^\/\//;
  if (slashes.test(text)) {
    return scheme === 'file' ? parseFile(text) : parseAuthority(scheme, text.slice(2));
  }
  const isAbsolute = text.startsWith('/') || (isSpecial(scheme) && text.startsWith('\\'));
  if (isAbsolute) return withTail({ ...base }, text, '');
  if (text === '') return { ...base, fragment: undefined };
  if (text.startsWith('#')) return withFragment(base, text.slice(1));
  if (text.startsWith('?')) return withTail({ ...base }, text, undefined);
  return withTail({ ...base }, text, base.path.slice(0, base.path.lastIndexOf('/') + 1));
}

function withFragment(base: UrlParts, text: string): UrlParts {
  return { ...base, fragment: percentEncode(text, encodeSets.fragment) };
}

function parseFile(rest: string): UrlParts | undefined {
  const parts = { ...noParts, scheme: 'file', host: '' };
  if (!/^[/\\]{2}/.test(rest)) return withTail(parts, rest, '/');
  const [name = ''] = /^[^/\\?#]*/.exec(rest.slice(2)) ?? [];
  const host = name === '' ? '' : parseHost(name, true);
  if (host === undefined) return undefined;
  return withTail(
    { ...parts, host: host === 'localhost' ? '' : host },
    rest.slice(2 + name.length),
    '/',
  );
}

/** Reads what follows `//`. */
function parseAuthority(scheme: string, rest: string): UrlParts | undefined {
  const ends = isSpecial(scheme) ? /[/\\?#]/ : /[/?#]/;
  const end = rest.search(ends);
  const authority = end < 0 ? rest : rest.slice(0, end);
  const at = authority.lastIndexOf('@');
  const place = parseHostAndPort(scheme, authority.slice(at + 1));
  if (place === undefined || (place.host === '' && (at >= 0 || isSpecial(scheme))))
    return undefined;
  const [name, ...words] = at < 0 ? [''] : authority.slice(0, at).split(':');
  const parts: UrlParts = {
    ...noParts,
    scheme,
    ...place,
    username: percentEncode(name ?? '', encodeSets.userinfo),
    password: percentEncode(words.join(':'), encodeSets.userinfo),
  };
  return withTail(parts, end < 0 ? '' : rest.slice(end), isSpecial(scheme) ? '/' : '');
}

/** Reads `db.example.com:3000`; `undefined` if it is not valid. */
export function parseHostAndPort(
  scheme: string,
  text: string,
): Pick<UrlParts, 'host' | 'port'> | undefined {
  const [, name = '', digits = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(text) ?? [];
  if (name === '' && text !== '') return undefined;
  const port = digits === '' ? '' : String(Number(digits));
  if (Number(port) > 65_535) return undefined;
  const host = name === '' ? '' : parseHost(name, isSpecial(scheme));
  return host === undefined ? undefined : { host, port: port === specialPorts[scheme] ? '' : port };
}

/**
 * Reads path, query and fragment. `before` is the path that a relative one continues; without it
 * the path stays as it is, unless it is opaque.
 */
function withTail(parts: UrlParts, text: string, before: string | undefined): UrlParts {
  const hash = text.indexOf('#');
  const whole = hash < 0 ? text : text.slice(0, hash);
  const mark = whole.indexOf('?');
  const path = mark < 0 ? whole : whole.slice(0, mark);
  const queryText = mark < 0 ? undefined : whole.slice(mark + 1);
  if (parts.isOpaque) parts.path = percentEncode(path, encodeSets.control);
  else if (before !== undefined) parts.path = normalPath(parts, path, before);
  parts.query = queryText && encodeQuery(parts.scheme, queryText);
  if (queryText === '') parts.query = '';
  parts.fragment = hash < 0 ? undefined : percentEncode(text.slice(hash + 1), encodeSets.fragment);
  return parts;
}

export function encodeQuery(scheme: string, text: string): string {
  return percentEncode(text, isSpecial(scheme) ? encodeSets.specialQuery : encodeSets.query);
}

/** Resolves `.` and `..`, written with escapes or not. */
export function normalPath({ scheme }: UrlParts, given: string, before: string): string {
  const isSpecialPath = isSpecial(scheme);
  const text = isSpecialPath ? given.replaceAll('\\', '/') : given;
  const joined = text.startsWith('/') ? text : `${before}${text}`;
  if (joined === '') return isSpecialPath ? '/' : '';
  const segments: string[] = [];
  const words = joined.replace(/^\//, '').split('/');
  for (const [at, word] of words.entries()) {
    const isLast = at === words.length - 1;
    const dots = word.replace(/%2e/gi, '.');
    if (dots === '..') segments.pop();
    else if (dots !== '.') segments.push(percentEncode(word, encodeSets.path));
    if ((dots === '..' || dots === '.') && isLast) segments.push('');
  }
  return `/${segments.join('/')}`;
}

/** The whole URL as it is written. */
export function urlText(parts: UrlParts): string {
  const { scheme, username, password, host, port, path, query, fragment } = parts;
  const secret = password === '' ? '' : `:${password}`;
  const user = username === '' && password === '' ? '' : `${username}${secret}@`;
  const place = host === undefined ? '' : `//${user}${host}${port === '' ? '' : `:${port}`}`;
  // A path that would be read as a host.
  const guard = host === undefined && !parts.isOpaque && path.startsWith('//') ? '/.' : '';
  const search = query === undefined ? '' : `?${query}`;
  const hash = fragment === undefined ? '' : `#${fragment}`;
  return `${scheme}:${place}${guard}${path}${search}${hash}`;
}
