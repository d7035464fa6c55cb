import path from 'node:path';
import { isHostName, isLocalName } from '../auth/app-hosts.ts';
import { type IssuerRules, publicIssuers } from '../auth/issuer-rules.ts';
import { type KeyFiles, keyFilesIn } from '../auth/keys.ts';
import { noRateLimits, type RateLimits } from '../auth/rate-limiter.ts';
import type { ArchiveSettings } from '../host/backups/archiver.ts';
import type { RepositorySettings } from '../host/backups/backup-messages.ts';
import type { LogBounds } from '../host/databases/module-log.ts';
import type { StartChoice } from '../host/databases/open-at-start.ts';
import type { LedgerBounds } from '../host/ledger/ledger-files.ts';
import type { AcceptedLoss } from '../host/offline/accept-losses.ts';
import { modeFor, type OutboundRules } from '../host/outbound/outbound-rules.ts';
import type { Creators } from '../host/registry/access.ts';
import type { HistoryChoice } from '../host/registry/history-choice.ts';
import { parseTarget } from '../host/registry/names.ts';
import type { QuotaLimits } from '../host/registry/quota-limits.ts';
import type { Budget } from '../host/seats/budget.ts';
import type { IsolationRules } from '../host/workers/isolation.ts';
import type { ConsoleAudience } from '../http/console.ts';
import type { SettingInForce } from '../http/service-facts.ts';
import { limits } from '../limits.ts';
import { identityFromHex } from '../values/identity.ts';
import { completeSocketLimits, type SocketLimits } from '../websocket/socket-limits.ts';
import { type ClusterChoice, completeCluster, type GivenCluster } from './cluster-choice.ts';
import { consoleDirectory, templatesDirectory } from './version.ts';

/** The complete configuration of a service. Paths are absolute. */
export interface ServiceConfiguration {
  readonly listen: ListenAddress;
  /** Data folder; `undefined` keeps the data in memory until the process ends. */
  readonly dataDirectory: string | undefined;
  /** Folder of the key pair that signs tokens. */
  readonly keyDirectory: string;
  /** The two files of the pair, if they are not in that folder. */
  readonly keyFiles: KeyFiles | undefined;
  /** `iss` of the tokens that this host issues. Identities depend on it: it must never change. */
  readonly issuer: string;
  /** Lifetime of the tokens that this host issues; `undefined`: they do not expire. */
  readonly tokenSeconds: number | undefined;
  /** Issuers whose tokens are accepted in addition to the host's own. */
  readonly issuers: IssuerRules;
  /** Issuers at which people can log in to the console, and the id of the client there. */
  readonly loginClients: Readonly<Record<string, string>>;
  /** Secrets of these clients. */
  readonly loginSecrets: Readonly<Record<string, string>>;
  /** Who can create databases; must be set if other machines can connect. */
  readonly publishPolicy: Creators | undefined;
  /** Certificate and key for TLS; `undefined`: plain HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Addresses or networks of proxies whose `x-forwarded-for` is trusted. */
  readonly trustedProxies: readonly string[];
  /** Request rates of one identity or one address. */
  readonly rates: RateLimits;
  /** Bounds of concurrent work, and request timeouts. */
  readonly bounds: ServiceBounds;
  /** Logs to open although their end is missing. */
  readonly acceptedLosses: readonly AcceptedLoss[];
  /** True: databases of a single machine's folder become databases of the cluster. */
  readonly importsFolder: boolean;
  /** Quotas of identities, addresses and databases; absent: no limit. */
  readonly quotas: QuotaLimits;
  /** What is kept of the history of databases; what is absent has the default. */
  readonly history: HistoryChoice;
  /** What is kept of the ledgers of databases. */
  readonly ledger: LedgerBounds;
  /** Log bounds of modules; the rest comes from `limits.ts`. */
  readonly moduleLogs: Partial<LogBounds>;
  /** Repositories for backups, which clients name. */
  readonly repositories: readonly RepositorySettings[];
  /** The continuous archive; without a repository there is none. */
  readonly archive: Omit<ArchiveSettings, 'repository'> & {
    readonly repository: string | undefined;
  };
  /** How long a log stays that a restore in place has replaced. */
  readonly keepReplacedMillis: number;
  /** Identities that have the owner's rights on every database. */
  readonly operators: readonly bigint[];
  /** `worker`: each database on its own, as in production; `local`: one thread for all. */
  readonly placement: 'worker' | 'local';
  /** The cluster that the service is a host of; `undefined`: it is alone. */
  readonly cluster: ClusterChoice | undefined;
  /** How databases are isolated; the default depends on who can publish. */
  readonly isolation: Partial<IsolationRules>;
  /** Which databases open when the service starts; the others open on first use. */
  readonly startDatabases: StartChoice;
  /** Time without use after which a database sleeps; 0: none does. */
  readonly sleepAfterMillis: number;
  /** Whether somebody waits for each publish, who writes the program. */
  readonly isDevelopment: boolean;
  /** Resource limits of one database's module; the rest comes from `limits.ts`. */
  readonly budget: Partial<Budget>;
  /** Where modules can send HTTP requests. */
  readonly moduleHttp: OutboundRules;
  /** Limits of each WebSocket; the rest comes from `limits.ts`. */
  readonly websocket: Partial<SocketLimits>;
  /** `Host` names accepted on loopback, in addition to loopback names. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages that can use the service, also on loopback; `*`: all pages. */
  readonly allowedOrigins: readonly string[];
  /** Additional names, and additional origins that are valid for MCP only. */
  readonly mcpHosts: readonly string[];
  readonly mcpOrigins: readonly string[];
  /** Whether MCP requires a token. */
  readonly mcpLogin: boolean;
  /** Bytes of rows in one answer to an agent, unless it asks for more. */
  readonly mcpAnswerBytes: number;
  /**
   * Static files of a database are served at `<database>.<domain>`; `undefined`: at no host of
   * their own but those that are bound.
   */
  readonly appsDomain: string | undefined;
  /** Host names of apps, and the database of each. */
  readonly appHosts: Readonly<Record<string, string>>;
  /** To whom the console is served. */
  readonly console: ConsoleAudience;
  /** Folders of the built console and of the built templates. */
  readonly consoleDirectory: string;
  readonly templatesDirectory: string;
  /** The settings as they were read, for operators who ask; empty where a program gave values. */
  readonly settingsInForce: readonly SettingInForce[];
  /** Public address, such as `https://db.example.com`; `undefined`: as clients address it. */
  readonly publicUrl: string | undefined;
  readonly logLevel: (typeof logLevels)[number];
  /** Who can read `/v1/metrics`; with `off`, the path does not exist. */
  readonly metricsFor: (typeof metricsReaders)[number];
}

/** Input for starting a service: omitted values have defaults. */
export type GivenConfiguration = Partial<Omit<ServiceConfiguration, PartlyGiven | 'cluster'>> & {
  readonly [Key in PartlyGiven]?: Partial<ServiceConfiguration[Key]>;
} & { readonly cluster?: GivenCluster };

type PartlyGiven = 'archive' | 'issuers' | 'rates' | 'bounds' | 'ledger' | 'moduleHttp';

export interface ServiceBounds {
  /** Maximum open connections, including WebSockets. */
  readonly connectionsMax: number;
  /** New connections accepted in one round of the event loop. */
  readonly connectionsAtOnce: number;
  /** Maximum HTTP requests in progress. */
  readonly requestsMax: number;
  /** Maximum total bytes of their bodies. */
  readonly bodiesBytesMax: number;
  /** Time without a new byte of an unfinished body. */
  readonly bodyIdleMillisMax: number;
  /** Bytes of large responses that their clients have not received yet. */
  readonly answersBytesMax: number;
  readonly programBytesMax: number;
  readonly handlerBodyBytesMax: number;
  /** Time for a request's headers to arrive, and for the whole request. */
  readonly headerMillisMax: number;
  readonly requestMillisMax: number;
}

const defaultLedger: LedgerBounds = {
  keepMillis: limits.ledgerKeepMillis,
  bytesMax: limits.ledgerBytesMax,
};

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
  /** 0 selects any free port. */
  readonly port: number;
}

/** The configuration is unusable; the message says what to change. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

const defaultListenAddress: ListenAddress = { host: '127.0.0.1', port: 3000 };

const defaultArchive = {
  repository: undefined,
  intervalMillis: limits.archiveMillis,
  databases: 'all',
  lagBytes: limits.archiveLagBytesMax,
} as const;

/** Fills in defaults and rejects unsafe configurations. */
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
    loginClients: given.loginClients ?? {},
    loginSecrets: given.loginSecrets ?? {},
    publishPolicy: given.publishPolicy,
    tls: given.tls,
    trustedProxies: given.trustedProxies ?? [],
    rates: { ...defaultRates(listen), ...given.rates },
    operators: given.operators ?? [],
    repositories: given.repositories ?? [],
    archive: { ...defaultArchive, ...given.archive },
    keepReplacedMillis: given.keepReplacedMillis ?? limits.replacedKeptMillis,
    placement: given.placement ?? 'worker',
    cluster: clusterOf(given.cluster ?? {}, { listen, dataDirectory }),
    isolation: given.isolation ?? {},
    startDatabases: given.startDatabases ?? 'lazily',
    sleepAfterMillis: given.sleepAfterMillis ?? limits.sleepAfterMillis,
    isDevelopment: given.isDevelopment ?? false,
    budget: given.budget ?? {},
    moduleHttp: {
      mode: modeFor(given.moduleHttp?.allow ?? []),
      allow: [],
      ...given.moduleHttp,
    },
    websocket: given.websocket ?? {},
    allowedHosts: given.allowedHosts ?? [],
    allowedOrigins: given.allowedOrigins ?? [],
    mcpHosts: given.mcpHosts ?? [],
    mcpOrigins: given.mcpOrigins ?? [],
    mcpLogin: given.mcpLogin ?? false,
    mcpAnswerBytes: given.mcpAnswerBytes ?? limits.agentTextBytesUnasked,
    appsDomain: appsDomainOf(listen, given),
    appHosts: given.appHosts ?? {},
    console: given.console ?? 'loopback',
    consoleDirectory: given.consoleDirectory ?? consoleDirectory,
    templatesDirectory: given.templatesDirectory ?? templatesDirectory,
    settingsInForce: given.settingsInForce ?? [],
    publicUrl: given.publicUrl,
    logLevel: given.logLevel ?? 'info',
    metricsFor: given.metricsFor ?? (isLoopback(listen.host) ? 'anyone' : 'operators'),
    bounds: { ...defaultBounds(listen), ...given.bounds },
    history: given.history ?? {},
    ledger: { ...defaultLedger, ...given.ledger },
    moduleLogs: given.moduleLogs ?? {},
    acceptedLosses: given.acceptedLosses ?? [],
    importsFolder: given.importsFolder ?? false,
    quotas: { ...defaultQuotas(listen, given.publishPolicy), ...given.quotas },
  };
  refuseOpenPublishing(configuration);
  refuseLatePings(configuration);
  refuseHalves(configuration);
  refuseIdleList(configuration);
  refuseAppHosts(configuration);
  refuseArchive(configuration);
  return configuration;
}

function clusterOf(
  given: GivenCluster,
  around: Pick<ServiceConfiguration, 'listen' | 'dataDirectory'>,
): ClusterChoice | undefined {
  const reading = completeCluster(given, around);
  if (reading.kind === 'valid') return reading.choice;
  throw new ConfigurationError(reading.fault);
}

/** On loopback browsers find all names below `localhost` by themselves. */
function appsDomainOf({ host }: ListenAddress, { appsDomain }: GivenConfiguration) {
  if (appsDomain === undefined) return isLoopback(host) ? 'localhost' : undefined;
  return appsDomain === 'none' ? undefined : appsDomain;
}

/** Host names by which the service itself is known. */
export function ownHostsOf({
  allowedHosts,
  mcpHosts,
  publicUrl,
}: Pick<ServiceConfiguration, 'allowedHosts' | 'mcpHosts' | 'publicUrl'>): readonly string[] {
  const own = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  return [...allowedHosts, ...mcpHosts, ...own];
}

/** Returns the key files of a service. */
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
 * Reads `anyone`, `authenticated`, `owners-list:` and identities, or `issuer:` and issuers,
 * separated by commas.
 */
export function parsePublishPolicy(text: string): Creators {
  if (text === 'anyone' || text === 'authenticated') return text;
  const [, word, rest = ''] = /^(owners-list|issuer):(.*)$/.exec(text) ?? [];
  const parts = (word === undefined ? text : rest).split(',').map((part) => part.trim());
  if (word === 'issuer' && parts.every((part) => part !== '')) return { issuers: parts };
  const identities = parts.map((part) => {
    const identity = identityFromHex(part);
    if (identity !== undefined) return identity;
    throw new ConfigurationError(`\`${text}\` is not a publish policy; use one of:\n${policies}`);
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

/** On loopback, every client is this machine's user; elsewhere the operator must decide. */
function refuseOpenPublishing({ listen, publishPolicy }: ServiceConfiguration): void {
  if (publishPolicy !== undefined || isLoopback(listen.host)) return;
  throw new ConfigurationError(
    `Listening on ${listen.host} lets other machines connect, so say first who may publish ` +
      `databases:\n${policies}`,
  );
}

/** Pongs are the sign of life of idle clients: without one in time, all would be dropped. */
function refuseLatePings({ websocket }: ServiceConfiguration): void {
  const { pingMillis, idleMillis } = completeSocketLimits(websocket);
  if (pingMillis < idleMillis) return;
  throw new ConfigurationError(
    `--ping-interval (${pingMillis} ms) must be below --idle-timeout (${idleMillis} ms)`,
  );
}

/** Rejects a pair of files of which only one was given. */
function refuseHalves({ tls, keyFiles }: ServiceConfiguration): void {
  const isHalf = (pair: object | undefined) => Object.values(pair ?? {}).includes('');
  const halves = [
    ...(isHalf(tls) ? ['--tls-cert and --tls-key'] : []),
    ...(isHalf(keyFiles) ? ['--jwt-priv-key-path and --jwt-pub-key-path'] : []),
  ];
  if (halves.length === 0) return;
  throw new ConfigurationError(`${halves[0]} belong together: give both, or none`);
}

/** A list that does not count would seem to protect. */
function refuseIdleList({ moduleHttp: { mode, allow } }: ServiceConfiguration): void {
  if (mode !== 'public' || allow.every(({ isPrivate }) => isPrivate)) return;
  throw new ConfigurationError(
    '--module-http-allow names public hosts, which `--module-http-mode public` reaches anyway; ' +
      'use `list` to close the others, or name private networks alone',
  );
}

/** An archive needs a repository that there is. */
function refuseArchive({ archive, repositories }: ServiceConfiguration): void {
  const { repository } = archive;
  if (repository === undefined) return;
  if (repositories.some(({ name }) => name === repository)) return;
  throw new ConfigurationError(`archive.repository: config.toml has no [repository.${repository}]`);
}

/** What a publisher controls must not be served where the API is, or at another database's host. */
function refuseAppHosts(configuration: ServiceConfiguration): void {
  const { appHosts, appsDomain } = configuration;
  const own = ownHostsOf(configuration);
  for (const [host, database] of Object.entries(appHosts)) {
    const fault = appHostFault(host, { own, appsDomain });
    if (fault !== undefined) {
      throw new ConfigurationError(`apps.hosts: \`${host}\` ${fault}`);
    }
    const target = parseTarget(database);
    if (target.kind !== 'invalid') continue;
    throw new ConfigurationError(
      `apps.hosts: \`${database}\`, for ${host}, is not a database: ${target.fault}`,
    );
  }
}

function appHostFault(
  host: string,
  { own, appsDomain }: { readonly own: readonly string[]; readonly appsDomain: string | undefined },
): string | undefined {
  if (!isHostName(host) || !host.includes('.')) {
    return isLoopback(host)
      ? 'is a loopback name, which is the service itself'
      : 'is not a host name, such as app.example.com';
  }
  if (isLocalName(host)) return 'is a loopback name: databases have theirs below `localhost`';
  if (own.includes(host)) {
    return 'is a name of the service itself (http.public-url, allowed-hosts or mcp-hosts)';
  }
  if (appsDomain === undefined || !`.${host}`.endsWith(`.${appsDomain}`)) return undefined;
  return `is below http.apps-domain (${appsDomain}), where names are those of databases`;
}

/**
 * Whether people not chosen by the operator can create databases. On loopback, with its default
 * policy, only this machine's user can.
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

/** On loopback all clients are this machine's user; elsewhere each client is limited. */
function defaultRates({ host }: ListenAddress): RateLimits {
  if (isLoopback(host)) return noRateLimits;
  return {
    identityRequestsPerSecond: limits.identityRequestsPerSecondMax,
    addressRequestsPerSecond: limits.addressRequestsPerSecondMax,
    addressConnections: limits.addressConnectionsMax,
  };
}
