/** Names of the service, and pages that may use it, that the operator has named. */
export interface PageRules {
  /** Host names as a `Host` header names them, without a port. */
  readonly hosts: readonly string[];
  /** Origins as a browser sends them, such as `https://app.example.com`; `*`: all of them. */
  readonly origins: readonly string[];
}

/** What a request says about where it comes from. */
export interface Provenance {
  /** The address that the connection came in on. */
  readonly localAddress: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
}

/**
 * Who sends a request: a `program`, which names no origin; a page that is `known`, because the
 * operator has named its origin or it comes from this machine; one that names the service itself
 * as its origin (`own`), which a page can arrange by making its name point here; a `stranger`.
 */
export type Sender = 'program' | 'known' | 'own' | 'stranger';

export type PageVerdict =
  | { readonly kind: 'allowed'; readonly sender: Sender }
  | { readonly kind: 'refused'; readonly fault: 'host' | 'origin'; readonly text: string };

/**
 * Judges where a request comes from. A page that a browser on this machine shows can send requests
 * to loopback, and can make a name of its own point there (DNS rebinding): it then sends its name
 * as `Host` and `Origin`. So on a loopback connection only loopback names and those of the operator
 * pass, whatever the request is. On other addresses nothing is refused here: pages show who they
 * are by tokens.
 */
export function judgePage(from: Provenance, rules: PageRules): PageVerdict {
  const isLocal = isLoopbackAddress(from.localAddress);
  const host = from.host?.toLowerCase() ?? '';
  const name = hostName(host);
  // Browsers always send a `Host`; what sends none is a program of an older kind.
  if (isLocal && host !== '' && !isLoopbackName(name) && !rules.hosts.includes(name)) {
    return { kind: 'refused', fault: 'host', text: hostText(host) };
  }
  const { origin } = from;
  const sender = origin === undefined ? 'program' : senderOf(origin, host, isLocal, rules);
  if (!isLocal || sender !== 'stranger') return { kind: 'allowed', sender };
  return { kind: 'refused', fault: 'origin', text: originText(origin ?? '') };
}

function senderOf(origin: string, host: string, isLocal: boolean, rules: PageRules): Sender {
  if (rules.origins.includes('*') || rules.origins.includes(origin)) return 'known';
  const [, scheme = '', authority] = /^([a-z][a-z\d+.-]*):\/\/([^/]+)$/.exec(origin) ?? [];
  if (authority === undefined) return 'stranger';
  // Windows of programs that are written like pages have schemes of their own.
  if (isLocal && isLoopbackName(hostName(authority))) return 'known';
  if (!/^https?$/.test(scheme) || authority !== host) return 'stranger';
  return rules.hosts.includes(hostName(host)) ? 'known' : 'own';
}

export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

/**
 * Names that stay on this machine, whatever a name server says. The address of a service that
 * listens everywhere leads there, too.
 */
function isLoopbackName(name: string): boolean {
  return loopbackNames.has(name) || /^127(?:\.\d{1,3}){3}$/.test(name);
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '[::1]', '0.0.0.0', '[::]']);

/** The name or address of an authority, without its port. */
function hostName(authority: string): string {
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

/** What a stranger wrote, short, and with nothing that a terminal, a shell or a page could run. */
function shown(text: string): string {
  return text.slice(0, shownCharactersMax).replace(/[^\w.:/[\]+-]/g, '?');
}

const shownCharactersMax = 128;
