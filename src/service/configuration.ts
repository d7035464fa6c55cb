import path from 'node:path';
import { type IssuerRules, publicIssuers } from '../auth/issuer-rules.ts';
import { type KeyFiles, keyFilesIn } from '../auth/keys.ts';
import { noRateLimits, type RateLimits } from '../auth/rate-limiter.ts';
import type { AcceptedLoss } from '../host/accept-losses.ts';
import type { Budget } from '../host/host-options.ts';
import type { Creators } from '../host/host-types.ts';
import type { IsolationRules } from '../host/isolation.ts';
import type { LogBounds } from '../host/module-log.ts';
import type { StartChoice } from '../host/open-at-start.ts';
import type { QuotaLimits } from '../host/quota-limits.ts';
import { limits } from '../limits.ts';
import { identityFromHex } from '../values/identity.ts';
import { completeSocketLimits, type SocketLimits } from '../websocket/socket-limits.ts';

/** Everything that decides how a service runs. Paths are absolute. */
export interface ServiceConfiguration {
  readonly listen: ListenAddress;
  /** Folder of the data; `undefined` keeps it in memory until the process ends. */
  readonly dataDirectory: string | undefined;
  /** Folder of the key pair that signs tokens. */
  readonly keyDirectory: string;
  /** The two files of the pair, when they do not stand in that folder. */
  readonly keyFiles: KeyFiles | undefined;
  /** `iss` of the tokens that this host issues. Identities depend on it: never change it. */
  readonly issuer: string;
  /** What this host issues expires after so many seconds; `undefined`: never. */
  readonly tokenSeconds: number | undefined;
  /** Whose tokens are accepted beside the host's own. */
  readonly issuers: IssuerRules;
  /** Who may create databases; must be chosen when others than this machine can connect. */
  readonly publishPolicy: Creators | undefined;
  /** Certificate and key for TLS; `undefined`: plain HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Addresses or networks of proxies whose `x-forwarded-for` is believed. */
  readonly trustedProxies: readonly string[];
  /** What one identity or one address may ask for. */
  readonly rates: RateLimits;
  /** How much the service takes in at once, and for how long it waits for a request. */
  readonly bounds: ServiceBounds;
  /** Logs that are taken as they are, although their end is missing. */
  readonly acceptedLosses: readonly AcceptedLoss[];
  /** How much identities, addresses and databases may have; absent: any amount. */
  readonly quotas: QuotaLimits;
  /** How much modules log; the rest comes from `limits.ts`. */
  readonly moduleLogs: Partial<LogBounds>;
  /** Identities that have the owner's rights on every database. */
  readonly operators: readonly bigint[];
  /** `worker`: each database by itself, as in production; `local`: one thread for all. */
  readonly placement: 'worker' | 'local';
  /** What keeps databases apart; what is left out follows from who may publish. */
  readonly isolation: Partial<IsolationRules>;
  /** Which databases open when the service starts; the others do when they are first asked for. */
  readonly startDatabases: StartChoice;
  /** What one database's module may use; the rest comes from `limits.ts`. */
  readonly budget: Partial<Budget>;
  /** Bounds of each WebSocket; the rest comes from `limits.ts`. */
  readonly websocket: Partial<SocketLimits>;
  /** `Host` names that are accepted on loopback besides loopback ones. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages that may use the service, also on loopback; `*`: all pages. */
  readonly allowedOrigins: readonly string[];
  /** More names, and more origins, of which the latter hold for MCP alone. */
  readonly mcpHosts: readonly string[];
  readonly mcpOrigins: readonly string[];
  /** True: MCP is only for callers with a token. */
  readonly mcpLogin: boolean;
  /** Where clients reach it, as `https://db.example.com`; `undefined`: where they say. */
  readonly publicUrl: string | undefined;
  readonly logLevel: (typeof logLevels)[number];
  /** Who reads `/v1/metrics`; `off`: there is no such path. */
  readonly metricsFor: (typeof metricsReaders)[number];
}

/** What a service is started with: what is left out has a default. */
export type GivenConfiguration = Partial<Omit<ServiceConfiguration, PartlyGiven>> & {
  readonly [Key in PartlyGiven]?: Partial<ServiceConfiguration[Key]>;
};

type PartlyGiven = 'issuers' | 'rates' | 'bounds';

export interface ServiceBounds {
  /** Open connections, WebSockets among them. */
  readonly connectionsMax: number;
  /** New connections that are taken in one round of the event loop. */
  readonly connectionsAtOnce: number;
  /** HTTP requests that are being answered. */
  readonly requestsMax: number;
  /** Bytes of their bodies, all together. */
  readonly bodiesBytesMax: number;
  /** Time without a byte of a body that is still coming. */
  readonly bodyIdleMillisMax: number;
  /** Bytes of large answers that their clients have not taken yet. */
  readonly answersBytesMax: number;
  readonly programBytesMax: number;
  /** For a request's headers to arrive, and for the whole of it. */
  readonly headerMillisMax: number;
  readonly requestMillisMax: number;
}

function defaultBounds({ host }: ListenAddress): ServiceBounds {
  return isLoopback(host) ? { ...limits, connectionsAtOnce: 1 } : limits;
}

/** Paths of PEM files. */
export interface TlsFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

export const metricsReaders = ['anyone', 'operators', 'off'] as const;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

export interface ListenAddress {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** The configuration cannot be used as it is; the text says what to change. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

const defaultListenAddress: ListenAddress = { host: '127.0.0.1', port: 3000 };

/** Fills in what was left out, and refuses what would be unsafe. */
export function completeConfiguration(given: GivenConfiguration): ServiceConfiguration {
  const listen = given.listen ?? defaultListenAddress;
  const dataDirectory = given.dataDirectory;
  const configuration: ServiceConfiguration = {
    listen,
    dataDirectory,
    keyDirectory: given.keyDirectory ?? path.join(dataDirectory ?? process.cwd(), 'keys'),
    keyFiles: given.keyFiles,
    issuer: given.issuer ?? 'localhost',
    tokenSeconds: given.tokenSeconds,
    issuers: { ...publicIssuers, allowsLoopback: isLoopback(listen.host), ...given.issuers },
    publishPolicy: given.publishPolicy,
    tls: given.tls,
    trustedProxies: given.trustedProxies ?? [],
    rates: { ...defaultRates(listen), ...given.rates },
    operators: given.operators ?? [],
    placement: given.placement ?? 'worker',
    isolation: given.isolation ?? {},
    startDatabases: given.startDatabases ?? 'lazily',
    budget: given.budget ?? {},
    websocket: given.websocket ?? {},
    allowedHosts: given.allowedHosts ?? [],
    allowedOrigins: given.allowedOrigins ?? [],
    mcpHosts: given.mcpHosts ?? [],
    mcpOrigins: given.mcpOrigins ?? [],
    mcpLogin: given.mcpLogin ?? false,
    publicUrl: given.publicUrl,
    logLevel: given.logLevel ?? 'info',
    metricsFor: given.metricsFor ?? (isLoopback(listen.host) ? 'anyone' : 'operators'),
    bounds: { ...defaultBounds(listen), ...given.bounds },
    moduleLogs: given.moduleLogs ?? {},
    acceptedLosses: given.acceptedLosses ?? [],
    quotas: { ...defaultQuotas(listen, given.publishPolicy), ...given.quotas },
  };
  refuseOpenPublishing(configuration);
  refuseLatePings(configuration);
  refuseHalves(configuration);
  return configuration;
}

/** Where the key pair of a service is. */
export function keyFilesOf({
  keyFiles,
  keyDirectory,
}: Pick<ServiceConfiguration, 'keyFiles' | 'keyDirectory'>): KeyFiles {
  return keyFiles ?? keyFilesIn(keyDirectory);
}

/** Reads `host:port`, `[::1]:3000` or a bare port. */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:[\]]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) {
    throw new ConfigurationError(
      `\`${text}\` is not an address to listen on; write it like 127.0.0.1:3000`,
    );
  }
  const host = match[1] ?? defaultListenAddress.host;
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

/**
 * Reads `anyone`, `authenticated`, `owners-list:` and identities, or `issuer:` and issuers, with
 * commas between them.
 */
export function parsePublishPolicy(text: string): Creators {
  if (text === 'anyone' || text === 'authenticated') return text;
  const [, word, rest = ''] = /^(owners-list|issuer):(.*)$/.exec(text) ?? [];
  const parts = (word === undefined ? text : rest).split(',').map((part) => part.trim());
  if (word === 'issuer' && parts.every((part) => part !== '')) return { issuers: parts };
  const identities = parts.map((part) => {
    const identity = identityFromHex(part);
    if (identity !== undefined) return identity;
    throw new ConfigurationError(`\`${text}\` is none of these:\n${policies}`);
  });
  return { identities };
}

const policies = [
  '  --publish-policy anyone                      every caller, anonymous ones too',
  '  --publish-policy authenticated               callers who present a token',
  '  --publish-policy owners-list:<identity,...>  these identities only',
  '  --publish-policy issuer:<issuer,...>         callers with a token of these issuers',
].join('\n');

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** On loopback everybody is this machine's user; anywhere else the operator decides first. */
function refuseOpenPublishing({ listen, publishPolicy }: ServiceConfiguration): void {
  if (publishPolicy !== undefined || isLoopback(listen.host)) return;
  throw new ConfigurationError(
    `Listening on ${listen.host} lets other machines connect, so say first who may publish ` +
      `databases:\n${policies}`,
  );
}

/** Clients are heard by their answers to pings: with none in time, all would be dropped. */
function refuseLatePings({ websocket }: ServiceConfiguration): void {
  const { pingMillis, idleMillis } = completeSocketLimits(websocket);
  if (pingMillis < idleMillis) return;
  throw new ConfigurationError(
    `--ping-interval (${pingMillis} ms) must be below --idle-timeout (${idleMillis} ms)`,
  );
}

/** Of two files that make a pair, one was left out. */
function refuseHalves({ tls, keyFiles }: ServiceConfiguration): void {
  const isHalf = (pair: object | undefined) => Object.values(pair ?? {}).includes('');
  const halves = [
    ...(isHalf(tls) ? ['--tls-cert and --tls-key'] : []),
    ...(isHalf(keyFiles) ? ['--jwt-priv-key-path and --jwt-pub-key-path'] : []),
  ];
  if (halves.length === 0) return;
  throw new ConfigurationError(`${halves[0]} belong together: give both, or none`);
}

/**
 * True when people whom nobody has chosen may create databases. On loopback with the policy that
 * holds there it is this machine's user alone.
 */
function letsStrangersPublish({ host }: ListenAddress, policy: Creators | undefined): boolean {
  if (policy === undefined || policy === 'anyone') return !isLoopback(host);
  return policy === 'authenticated' || 'issuers' in policy;
}

function defaultQuotas(listen: ListenAddress, policy: Creators | undefined): QuotaLimits {
  if (!letsStrangersPublish(listen, policy)) return {};
  return {
    'databases-per-identity': limits.strangerDatabasesMax,
    'databases-per-address': limits.addressDatabasesMax,
    'names-per-identity': limits.strangerNamesMax,
    'names-per-address': limits.addressNamesMax,
  };
}

/** On loopback it is this machine's user who asks; anywhere else nobody gets all there is. */
function defaultRates({ host }: ListenAddress): RateLimits {
  if (isLoopback(host)) return noRateLimits;
  return {
    identityRequestsPerSecond: limits.identityRequestsPerSecondMax,
    addressRequestsPerSecond: limits.addressRequestsPerSecondMax,
    addressConnections: limits.addressConnectionsMax,
  };
}
