import type { AcceptedIssuer } from '../auth/issuer-rules.ts';
import { limits } from '../limits.ts';
import { identityFromHex } from '../values/identity.ts';
import {
  ConfigurationError,
  logLevels,
  metricsReaders,
  parseListenAddress,
  parsePublishPolicy,
  type ServiceConfiguration,
} from './configuration.ts';
import type { Setting, SettingKind } from './setting.ts';

/** Everything that can be set, in the order in which it is explained. */
export const settings: readonly Setting[] = [
  ...serviceSettings(),
  ...authSettings(),
  ...httpSettings(),
  ...limitSettings(),
  ...websocketSettings(),
];

/** The kind decides what `apply` is given: `applySetting` reads the value before. */
function setting<Kind extends SettingKind>(one: Setting<Kind>): Setting {
  return one as unknown as Setting;
}

function serviceSettings(): Setting[] {
  return [
    setting({
      key: 'listen-addr',
      flag: 'listen-addr',
      kind: 'text',
      value: '<address>',
      help: 'address to listen on',
      otherwise: '127.0.0.1:3000',
      apply: (value, draft) => {
        draft.listen = parseListenAddress(value);
      },
    }),
    setting({
      key: 'publish-policy',
      flag: 'publish-policy',
      kind: 'text',
      value: '<policy>',
      help:
        'who may create databases: anyone, authenticated, owners-list:<identity,...> or ' +
        'issuer:<issuer,...>; must be given to listen on another address than loopback',
      otherwise: 'anyone, on loopback',
      apply: (value, draft) => {
        draft.publishPolicy = parsePublishPolicy(value);
      },
    }),
    setting({
      key: 'operators',
      flag: 'operator',
      kind: 'list',
      value: '<identity>',
      help: 'may on every database what its owner may, and reads the audit log',
      otherwise: 'nobody',
      apply: (values, draft) => {
        draft.operators = values.map(operator);
      },
    }),
    setting({
      key: 'log-level',
      flag: 'log-level',
      kind: 'text',
      value: '<level>',
      help: `${logLevels.slice(0, -1).join(', ')} or silent`,
      otherwise: 'info',
      apply: (value, draft) => {
        draft.logLevel = levelNamed(value);
      },
    }),
  ];
}

function authSettings(): Setting[] {
  return [
    setting({
      key: 'auth.jwt-key-dir',
      flag: 'jwt-key-dir',
      kind: 'path',
      value: '<dir>',
      help: 'folder of the key pair that signs tokens',
      otherwise: '`keys` in a data folder that was named, else your configuration',
      apply: (value, draft) => {
        draft.keyDirectory = value;
      },
    }),
    setting({
      key: 'auth.issuer',
      flag: 'issuer',
      kind: 'text',
      value: '<name>',
      help: '`iss` of the tokens of this host; identities depend on it, so never change it',
      otherwise: 'localhost',
      apply: (value, draft) => {
        draft.issuer = value;
      },
    }),
    setting({
      key: 'auth.issuers',
      flag: 'accept-issuer',
      kind: 'list',
      value: '<issuer[=audience]>',
      help: 'whose tokens are accepted beside those of this host',
      otherwise: 'every issuer whose keys may be asked for',
      apply: (values, draft) => {
        draft.issuers = { ...draft.issuers, accepted: acceptedIssuers(values) };
      },
    }),
    setting({
      key: 'auth.private-issuers',
      flag: 'private-issuers',
      kind: 'switch',
      help: 'ask issuers at private and loopback addresses for their keys, too, and by http',
      otherwise: 'loopback ones, while the service listens on loopback',
      apply: (value, draft) => {
        const allowed = { allowsPrivate: value, allowsLoopback: value };
        draft.issuers = { ...draft.issuers, ...allowed };
      },
    }),
  ];
}

function httpSettings(): Setting[] {
  return [
    setting({
      key: 'tls.certificate',
      flag: 'tls-cert',
      kind: 'path',
      value: '<file>',
      help: 'certificate chain, PEM; read again when it changes',
      otherwise: 'no TLS',
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
      apply: (value, draft) => {
        draft.tls = { certificateFile: '', ...draft.tls, keyFile: value };
      },
    }),
    setting({
      key: 'http.trusted-proxies',
      flag: 'trusted-proxy',
      kind: 'list',
      value: '<address>',
      help: 'proxies whose `x-forwarded-for` says who asks: addresses, or networks like 10.0.0.0/8',
      otherwise: 'none',
      apply: (values, draft) => {
        draft.trustedProxies = values;
      },
    }),
    setting({
      key: 'http.mcp-hosts',
      flag: 'mcp-host',
      kind: 'list',
      value: '<name>',
      help: '`Host` names that MCP accepts on loopback, too',
      otherwise: 'loopback names',
      apply: (values, draft) => {
        draft.mcpHosts = values;
      },
    }),
    setting({
      key: 'http.mcp-origins',
      flag: 'mcp-origin',
      kind: 'list',
      value: '<origin>',
      help: 'origins of pages that may use MCP, too',
      otherwise: "the service's own, and loopback ones on loopback",
      apply: (values, draft) => {
        draft.mcpOrigins = values;
      },
    }),
    setting({
      key: 'http.metrics',
      flag: 'metrics',
      kind: 'text',
      value: '<who>',
      help: 'who reads /v1/metrics: everybody, operators (with their token) or nobody',
      otherwise: 'everybody',
      apply: (value, draft) => {
        draft.metricsFor = metricsReaderNamed(value);
      },
    }),
  ];
}

function limitSettings(): Setting[] {
  return [
    setting({
      key: 'limits.identity-requests',
      flag: 'identity-requests',
      kind: 'count',
      value: '<per second>',
      help: 'requests of one identity; more get 429',
      otherwise: `${limits.identityRequestsPerSecondMax}, on loopback any number`,
      apply: (value, draft) => {
        draft.rates = { ...draft.rates, identityRequestsPerSecond: value };
      },
    }),
    setting({
      key: 'limits.address-requests',
      flag: 'address-requests',
      kind: 'count',
      value: '<per second>',
      help: 'requests from one address; more get 429',
      otherwise: `${limits.addressRequestsPerSecondMax}, on loopback any number`,
      apply: (value, draft) => {
        draft.rates = { ...draft.rates, addressRequestsPerSecond: value };
      },
    }),
    setting({
      key: 'limits.address-connections',
      flag: 'address-connections',
      kind: 'count',
      value: '<count>',
      help: 'open connections from one address; more are closed',
      otherwise: `${limits.addressConnectionsMax}, on loopback any number`,
      apply: (value, draft) => {
        draft.rates = { ...draft.rates, addressConnections: value };
      },
    }),
    setting({
      key: 'limits.call-timeout',
      flag: 'call-timeout',
      kind: 'duration',
      value: '<ms>',
      help: 'wall-clock limit of one reducer call',
      otherwise: `${limits.callMillisMax} ms`,
      apply: (value, draft) => {
        draft.budget = { ...draft.budget, callMillisMax: value };
      },
    }),
    setting({
      key: 'limits.heap',
      flag: 'heap-limit',
      kind: 'count',
      value: '<MiB>',
      help: 'JavaScript heap of one database',
      otherwise: `${limits.workerHeapMebibytesMax} MiB`,
      apply: (value, draft) => {
        draft.budget = { ...draft.budget, workerHeapMebibytesMax: value };
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
      value: '<ms>',
      help: 'between two pings of a WebSocket',
      otherwise: `${limits.socketPingMillis} ms`,
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, pingMillis: value };
      },
    }),
    setting({
      key: 'websocket.idle-timeout',
      flag: 'idle-timeout',
      kind: 'duration',
      value: '<ms>',
      help: 'silence after which a WebSocket is dropped',
      otherwise: `${limits.socketIdleMillis} ms`,
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, idleMillis: value };
      },
    }),
    setting({
      key: 'websocket.close-handshake-timeout',
      flag: 'close-handshake-timeout',
      kind: 'duration',
      value: '<ms>',
      help: 'wait for the answer to a close',
      otherwise: `${limits.socketCloseMillis} ms`,
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, closeMillis: value };
      },
    }),
    setting({
      key: 'websocket.incoming-queue-length',
      flag: 'incoming-queue-length',
      kind: 'count',
      value: '<count>',
      help: 'requests of one WebSocket that wait',
      otherwise: String(limits.socketMessagesInMax),
      apply: (value, draft) => {
        draft.websocket = { ...draft.websocket, messagesInMax: value };
      },
    }),
  ];
}

function operator(text: string): bigint {
  const identity = identityFromHex(text);
  if (identity !== undefined) return identity;
  throw new ConfigurationError(`operators: \`${text}\` is not an identity (64 hex digits)`);
}

function levelNamed(text: string): ServiceConfiguration['logLevel'] {
  const level = logLevels.find((candidate) => candidate === text);
  if (level !== undefined) return level;
  throw new ConfigurationError(`--log-level: one of ${logLevels.join(', ')}`);
}

function metricsReaderNamed(text: string): ServiceConfiguration['metricsFor'] {
  const reader = metricsReaders.find((candidate) => candidate === text);
  if (reader !== undefined) return reader;
  throw new ConfigurationError(`http.metrics: one of ${metricsReaders.join(', ')}`);
}

/** `https://auth.example.com`, or with an audience behind an equals sign; several add up. */
function acceptedIssuers(values: readonly string[]): readonly AcceptedIssuer[] {
  const audiences = new Map<string, readonly string[]>();
  for (const value of values) {
    const at = value.lastIndexOf('=');
    const issuer = at < 0 ? value : value.slice(0, at);
    const added = at < 0 ? [] : [value.slice(at + 1)];
    audiences.set(issuer, [...(audiences.get(issuer) ?? []), ...added]);
  }
  return [...audiences].map(([issuer, given]) =>
    given.length === 0 ? { issuer } : { issuer, audiences: given },
  );
}
