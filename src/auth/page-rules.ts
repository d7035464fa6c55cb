import type { AppHosts } from './app-hosts.ts';

/** Names of the service, and origins of pages that can use it, as set by the operator. */
export interface PageRules {
  /** Host names as in a `Host` header, without a port. */
  readonly hosts: readonly string[];
  /** Origins as a browser sends them, such as `https://app.example.com`; `*`: all of them. */
  readonly origins: readonly string[];
  /** Hosts of apps. Their pages are of no further origin than any other page. */
  readonly apps?: Pick<AppHosts, 'databaseOf'>;
}

/** The source of a request, as its connection and headers show it. */
export interface Provenance {
  /** The local address of the connection. */
  readonly localAddress: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
}

/**
 * The kind of sender: a `program`, which names no origin; a `known` page, whose origin the operator
 * has named or which comes from this machine; a page that names the service itself as its origin
 * (`own`), which it can arrange by pointing its name here; a `stranger`.
 */
export type Sender = 'program' | 'known' | 'own' | 'stranger';

export type PageVerdict =
  | { readonly kind: 'allowed'; readonly sender: Sender }
  | { readonly kind: 'refused'; readonly fault: 'host' | 'origin'; readonly text: string };

/**
 * Judges the origin of a request. A page in a browser on this machine can send requests to
 * loopback, and can point a name of its own there (DNS rebinding), which it then sends as `Host`
 * and `Origin`. So on a loopback connection only loopback names, those set by the operator and
 * those of apps pass, regardless of the request. On other addresses nothing is rejected here: pages
 * authenticate with tokens.
 */
export function judgePage(from: Provenance, rules: PageRules): PageVerdict {
  const isLocal = isLoopbackAddress(from.localAddress);
  const host = from.host?.toLowerCase() ?? '';
  const name = hostName(host);
  // Browsers always send a `Host`; a client without one is an old program.
  if (isLocal && host !== '' && !isLoopbackName(name) && !isNamed(host, rules)) {
    return { kind: 'refused', fault: 'host', text: hostText(host) };
  }
  const { origin } = from;
  const sender = origin === undefined ? 'program' : senderOf(origin, host, isLocal, rules);
  if (!isLocal || sender !== 'stranger') return { kind: 'allowed', sender };
  return { kind: 'refused', fault: 'origin', text: originText(origin ?? '') };
}

function isNamed(host: string, { hosts, apps }: PageRules): boolean {
  return hosts.includes(hostName(host)) || apps?.databaseOf(host) !== undefined;
}

function senderOf(origin: string, host: string, isLocal: boolean, rules: PageRules): Sender {
  if (rules.origins.includes('*') || rules.origins.includes(origin)) return 'known';
  const [, scheme = '', authority] = /^([a-z][a-z\d+.-]*):\/\/([^/]+)$/.exec(origin) ?? [];
  if (authority === undefined) return 'stranger';
  // Desktop programs built like pages use schemes of their own.
  if (isLocal && isLoopbackName(hostName(authority))) return 'known';
  if (!/^https?$/.test(scheme) || authority !== host) return 'stranger';
  return rules.hosts.includes(hostName(host)) ? 'known' : 'own';
}

export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

/** Whether a name stays on this machine regardless of DNS; wildcard addresses do, too. */
export function isLoopbackName(name: string): boolean {
  return loopbackNames.has(name) || /^127(?:\.\d{1,3}){3}$/.test(name);
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '[::1]', '0.0.0.0', '[::]']);

/** Returns the name or address of an authority, without its port. */
export function hostName(authority: string): string {
  return authority.replace(/:\d+$/, '');
}

function hostText(host: string): string {
  return (
    `The host \`${shown(host)}\` is not a name of this service: connections on loopback must ` +
    'use a loopback name. If a proxy passes this name on, set http.public-url (--public-url) or ' +
    `http.allowed-hosts (--allowed-host ${shown(hostName(host))}).`
  );
}

function originText(origin: string): string {
  return (
    `Pages of the origin \`${shown(origin)}\` may not use this service. To allow them, set ` +
    `http.allowed-origins (--allowed-origin ${shown(origin)}).`
  );
}

/** Shortens a stranger's text and removes anything that a terminal, a shell or a page could run. */
function shown(text: string): string {
  return text.slice(0, shownCharactersMax).replace(/[^\w.:/[\]+-]/g, '?');
}

const shownCharactersMax = 128;
