import { encodeSets, percentEncode } from './percent.ts';
import {
  encodeQuery,
  isSpecial,
  normalPath,
  parseHostAndPort,
  parseUrl,
  specialPorts,
  type UrlParts,
  urlText,
} from './url-parts.ts';
import { connect, URLSearchParams } from './url-search-params.ts';

/**
 * `URL` of the web for modules, which have none of the engine's. Differs where names are mapped to
 * lower case: by the tables of ECMAScript, not those of UTS 46.
 */
export class URL {
  /** Its query may be older than the parameters. */
  #ownParts: UrlParts;
  readonly #searchParams: URLSearchParams;
  #isQueryOld = false;

  constructor(url: unknown, base?: unknown) {
    this.#ownParts = partsOf(url, base);
    this.#searchParams = new URLSearchParams(this.#ownParts.query ?? '');
    connect(this.#searchParams, () => {
      this.#isQueryOld = true;
    });
  }

  /** The text of many parameters is put together once, not with each of them. */
  get #parts(): UrlParts {
    if (this.#isQueryOld) {
      this.#isQueryOld = false;
      const text = this.#searchParams.toString();
      this.#ownParts.query = text === '' ? undefined : text;
    }
    return this.#ownParts;
  }

  static canParse(url: unknown, base?: unknown): boolean {
    return URL.parse(url, base) !== null;
  }

  /** The URL, or `null` where the constructor throws. */
  static parse(url: unknown, base?: unknown): URL | null {
    const against = base === undefined ? undefined : parseUrl(`${base}`);
    if (base !== undefined && against === undefined) return null;
    return parseUrl(`${url}`, against) === undefined ? null : new URL(url, base);
  }

  get href(): string {
    return urlText(this.#parts);
  }

  set href(text: string) {
    this.#ownParts = partsOf(text);
    this.#refresh();
  }

  get origin(): string {
    const { scheme, host, port } = this.#parts;
    if (!isSpecial(scheme) || scheme === 'file') return 'null';
    return `${scheme}://${host}${port === '' ? '' : `:${port}`}`;
  }

  get protocol(): string {
    return `${this.#parts.scheme}:`;
  }

  /** Changes between the schemes of the web alone. */
  set protocol(text: string) {
    const [, word = ''] = /^([a-zA-Z][a-zA-Z\d+.-]*):?/.exec(text) ?? [];
    const scheme = word.toLowerCase();
    const parts = this.#parts;
    if (scheme === '' || isSpecial(scheme) !== isSpecial(parts.scheme)) return;
    const hasPlace = parts.username !== '' || parts.password !== '' || parts.port !== '';
    if ((scheme === 'file' && hasPlace) || (parts.scheme === 'file' && parts.host === '')) return;
    parts.scheme = scheme;
    if (parts.port === specialPorts[scheme]) parts.port = '';
  }

  get username(): string {
    return this.#parts.username;
  }

  set username(text: string) {
    if (this.#hasPlace()) this.#parts.username = percentEncode(text, encodeSets.userinfo);
  }

  get password(): string {
    return this.#parts.password;
  }

  set password(text: string) {
    if (this.#hasPlace()) this.#parts.password = percentEncode(text, encodeSets.userinfo);
  }

  get host(): string {
    const { host = '', port } = this.#parts;
    return port === '' ? host : `${host}:${port}`;
  }

  set host(text: string) {
    this.#place(text, true);
  }

  get hostname(): string {
    return this.#parts.host ?? '';
  }

  set hostname(text: string) {
    this.#place(text, false);
  }

  get port(): string {
    return this.#parts.port;
  }

  set port(text: string) {
    const [digits] = /^\d*/.exec(text) ?? [''];
    if (!this.#hasPlace() || (digits === '' && text !== '') || Number(digits) > 65_535) return;
    const port = digits === '' ? '' : String(Number(digits));
    this.#parts.port = port === specialPorts[this.#parts.scheme] ? '' : port;
  }

  get pathname(): string {
    return this.#parts.path;
  }

  set pathname(text: string) {
    const parts = this.#parts;
    if (parts.isOpaque) return;
    const given = `${text}`
      .replace(/[\t\n\r]/g, '')
      .replaceAll('?', '%3F')
      .replaceAll('#', '%23');
    parts.path = normalPath(parts, given, given === '' && !isSpecial(parts.scheme) ? '' : '/');
  }

  get search(): string {
    const { query } = this.#parts;
    return query === undefined || query === '' ? '' : `?${query}`;
  }

  set search(text: string) {
    const words = `${text}`.replace(/^\?/, '').replace(/[\t\n\r]/g, '');
    const { scheme } = this.#parts;
    this.#parts.query = text === '' ? undefined : encodeQuery(scheme, words.replaceAll('#', '%23'));
    this.#refresh();
  }

  get searchParams(): URLSearchParams {
    return this.#searchParams;
  }

  get hash(): string {
    const { fragment } = this.#parts;
    return fragment === undefined || fragment === '' ? '' : `#${fragment}`;
  }

  set hash(text: string) {
    const words = `${text}`.replace(/^#/, '').replace(/[\t\n\r]/g, '');
    this.#parts.fragment = text === '' ? undefined : percentEncode(words, encodeSets.fragment);
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }

  #hasPlace(): boolean {
    const { host, scheme } = this.#parts;
    return host !== undefined && host !== '' && scheme !== 'file';
  }

  #place(text: string, hasPort: boolean): void {
    const parts = this.#parts;
    if (parts.isOpaque) return;
    const plain = `${text}`.replace(/[\t\n\r]/g, '');
    const end = plain.search(isSpecial(parts.scheme) ? /[/\\?#]/ : /[/?#]/);
    const given = end < 0 ? plain : plain.slice(0, end);
    const place = parseHostAndPort(parts.scheme, given);
    if (place === undefined || (place.host === '' && isSpecial(parts.scheme))) return;
    const isPlain = given.startsWith('[') || !given.includes(':');
    if (!hasPort && !isPlain) return;
    parts.host = place.host;
    if (hasPort && /:\d+$/.test(given)) parts.port = place.port;
  }

  /** After a change of the query other than by `searchParams`. */
  #refresh(): void {
    this.#isQueryOld = false;
    connect(this.#searchParams, undefined, this.#ownParts.query ?? '');
  }
}

function partsOf(url: unknown, base?: unknown): UrlParts {
  const against = base === undefined ? undefined : parseUrl(`${base}`);
  const parts =
    base !== undefined && against === undefined ? undefined : parseUrl(`${url}`, against);
  if (parts === undefined) throw new TypeError(`Invalid URL: ${`${url}`.slice(0, 200)}`);
  return parts;
}
