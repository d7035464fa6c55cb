import { isHostName } from '../../auth/app-hosts.ts';
import { ClientAddresses } from '../../auth/client-address.ts';
import { parseSize } from '../../doors/size.ts';
import { limits } from '../../limits.ts';
import { ConfigurationError, metricsReaders } from '../configuration.ts';
import { durationText, type Setting, setting } from '../setting.ts';

/** Returns the settings for client connections: TLS, HTTP, apps, WebSockets. */
export function connectionSettings(): Setting[] {
  return [...tlsSettings(), ...httpSettings(), appHostsSetting(), ...websocketSettings()];
}

function appHostsSetting(): Setting {
  return setting({
    key: 'apps.hosts',
    flag: 'app-host',
    kind: 'pairs',
    value: '<name=database>',
    help: 'host names at which static files of a database are served, and the database of each',
    otherwise: 'none',
    example: { 'app.example.com': 'shop' },
    apply: (pairs, draft) => {
      const named = Object.entries(pairs).map(([name, value]) => [name.toLowerCase(), value]);
      draft.appHosts = Object.fromEntries(named);
    },
  });
}

function appsDomain(value: string): string {
  const name = value.toLowerCase().replace(/\.$/, '');
  if (isHostName(name) && (name.includes('.') || name === 'localhost' || name === 'none')) {
    return name;
  }
  throw new ConfigurationError(`\`${value}\` is not a host name, such as apps.example.com`);
}

function tlsSettings(): Setting[] {
  return [
    setting({
      key: 'tls.certificate',
      flag: 'tls-cert',
      kind: 'path',
      value: '<file>',
      help: 'certificate chain, PEM; reloaded when it changes',
      otherwise: 'no TLS',
      example: 'tls/fullchain.pem',
      apply: (value, draft) => {
        draft.tls = { keyFile: '', ...draft.tls, certificateFile: value };
      },
    }),
    setting({
      key: 'tls.key',
      flag: 'tls-key',
      kind: 'path',
      value: '<file>',
      help: 'private key of the certificate, PEM',
      otherwise: 'no TLS',
      example: 'tls/privkey.pem',
      apply: (value, draft) => {
        draft.tls = { certificateFile: '', ...draft.tls, keyFile: value };
      },
    }),
  ];
}

function httpSettings(): Setting[] {
  return [
    setting({
      key: 'http.trusted-proxies',
      flag: 'trusted-proxy',
      kind: 'list',
      value: '<address>',
      help: 'proxies whose `x-forwarded-for` is trusted: addresses, or networks such as 10.0.0.0/8',
      otherwise: 'none',
      example: ['127.0.0.1'],
      apply: (values, draft) => {
        checkProxies(values);
        draft.trustedProxies = values;
      },
    }),
    setting({
      key: 'http.public-url',
      flag: 'public-url',
      kind: 'text',
      value: '<url>',
      help: 'address of the service for clients of a proxy; its host and its pages are accepted',
      otherwise: 'the address of the request',
      example: 'https://db.example.com',
      apply: (value, draft) => {
        draft.publicUrl = originOf(value);
      },
    }),
    ...pageSettings(),
    setting({
      key: 'http.apps-domain',
      flag: 'apps-domain',
      kind: 'text',
      value: '<name>',
      help: 'static files of a database are served at `<database>.<name>`; none: at no such host',
      otherwise: 'localhost on loopback, else none',
      example: 'apps.example.com',
      apply: (value, draft) => {
        draft.appsDomain = appsDomain(value);
      },
    }),
    setting({
      key: 'http.mcp-login',
      flag: 'mcp-login',
      kind: 'switch',
      help: 'MCP requires a token; others get 401, and their clients ask them to log in',
      otherwise: 'anonymous callers can use MCP',
      example: true,
      apply: (value, draft) => {
        draft.mcpLogin = value;
      },
    }),
    setting({
      key: 'http.mcp-answer',
      flag: 'mcp-answer',
      kind: 'amount',
      value: '<size>',
      help: 'rows of one answer of the MCP tool `sql`, as JSON, unless an agent asks for more',
      otherwise: `${limits.agentTextBytesUnasked / 1024}KiB`,
      example: '8KiB',
      apply: (value, draft) => {
        const bytes = parseSize(value);
        if (bytes === undefined || bytes < 1024 || bytes > limits.agentTextBytesMax) {
          throw new ConfigurationError(`\`${value}\` must be a size from 1KiB to 1MiB`);
        }
        draft.mcpAnswerBytes = bytes;
      },
    }),
    setting({
      key: 'http.metrics',
      flag: 'metrics',
      kind: 'text',
      value: '<who>',
      help: 'who can read /v1/metrics: anyone, operators (with their token), or off for nobody',
      otherwise: 'operators; on loopback anyone',
      example: 'operators',
      apply: (value, draft) => {
        draft.metricsFor = oneOf(metricsReaders, value);
      },
    }),
  ];
}

/** Returns the settings for pages and for the names of the service; see `auth/page-rules.ts`. */
function pageSettings(): Setting[] {
  return [
    setting({
      key: 'http.allowed-origins',
      flag: 'allowed-origin',
      kind: 'list',
      value: '<origin>',
      help: 'additional origins whose pages can use the service on loopback; `*` allows all pages',
      otherwise: 'loopback origins, with any port',
      example: ['https://app.example.com'],
      apply: (values, draft) => {
        draft.allowedOrigins = values.map(pageOrigin);
      },
    }),
    setting({
      key: 'http.allowed-hosts',
      flag: 'allowed-host',
      kind: 'list',
      value: '<name>',
      help: 'additional `Host` names that the service accepts on loopback',
      otherwise: 'loopback names',
      example: ['db.example.com'],
      apply: (values, draft) => {
        draft.allowedHosts = values.map(hostName);
      },
    }),
    setting({
      key: 'http.mcp-hosts',
      flag: 'mcp-host',
      kind: 'list',
      value: '<name>',
      help: 'older name of `allowed-hosts`',
      otherwise: 'loopback names',
      example: ['db.example.com'],
      apply: (values, draft) => {
        draft.mcpHosts = values.map(hostName);
      },
    }),
    setting({
      key: 'http.mcp-origins',
      flag: 'mcp-origin',
      kind: 'list',
      value: '<origin>',
      help: 'additional origins whose pages can use MCP, and nothing else',
      otherwise: "the service's own; on loopback, loopback origins too",
      example: ['https://app.example.com'],
      apply: (values, draft) => {
        // The form that browsers send.
        draft.mcpOrigins = values.map((value) => value.toLowerCase().replace(/\/$/, ''));
      },
    }),
  ];
}

function websocketSettings(): Setting[] {
  return [
    setting({
      key: 'websocket.ping-interval',
      flag: 'ping-interval',
      kind: 'duration',
      value: '<time>',
      help: 'time between two pings of a WebSocket',
      otherwise: durationText(limits.socketPingMillis),
      example: '15s',
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, pingMillis: value };
      },
    }),
    setting({
      key: 'websocket.idle-timeout',
      flag: 'idle-timeout',
      kind: 'duration',
      value: '<time>',
      help: 'time without a byte, pongs included, after which a WebSocket is dropped',
      otherwise: durationText(limits.socketIdleMillis),
      example: '30s',
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, idleMillis: value };
      },
    }),
    setting({
      key: 'websocket.close-handshake-timeout',
      flag: 'close-handshake-timeout',
      kind: 'duration',
      value: '<time>',
      help: 'time to wait for the answer to a close',
      otherwise: durationText(limits.socketCloseMillis),
      example: '250ms',
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, closeMillis: value };
      },
    }),
    setting({
      key: 'websocket.incoming-queue-length',
      flag: 'incoming-queue-length',
      kind: 'count',
      value: '<count>',
      help: 'waiting requests of one WebSocket',
      otherwise: String(limits.socketMessagesInMax),
      example: limits.socketMessagesInMax,
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, messagesInMax: value };
      },
    }),
  ];
}

/** Removes the port, because any port is accepted. */
function hostName(value: string): string {
  return value.toLowerCase().replace(/:\d+$/, '');
}

/** Normalizes an origin to the form that browsers send. Throws `ConfigurationError` for others. */
function pageOrigin(value: string): string {
  const origin = value.toLowerCase().replace(/\/$/, '');
  const isOrigin = /^[a-z][a-z\d+.-]*:\/\/[^/?#@*]+$/.test(origin);
  if (isOrigin || origin === '*' || origin === 'null') return origin;
  throw new ConfigurationError(
    `\`${value}\` is not the origin of a page, such as https://app.example.com`,
  );
}

function checkProxies(proxies: readonly string[]): void {
  try {
    new ClientAddresses(proxies);
  } catch (cause) {
    throw new ConfigurationError((cause as Error).message, { cause });
  }
}

/** Returns the origin of an address without a path. Throws `ConfigurationError` for others. */
function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
    return url.origin;
  }
  throw new ConfigurationError(
    `\`${address}\` is not an address without a path, such as https://db.example.com`,
  );
}

/** Returns the given word if it is one of `words`. Throws `ConfigurationError`. */
export function oneOf<Word extends string>(words: readonly Word[], given: string): Word {
  const word = words.find((candidate) => candidate === given);
  if (word !== undefined) return word;
  throw new ConfigurationError(`\`${given}\` is none of ${words.join(', ')}`);
}
