import { existsSync, mkdirSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Registry } from 'prom-client';
import { ClientAddresses } from '../auth/client-address.ts';
import { HostTokens, type HostTokensOptions } from '../auth/host-tokens.ts';
import { Issuers } from '../auth/issuers.ts';
import { KeyError, type KeyFiles } from '../auth/keys.ts';
import type { PageRules } from '../auth/page-rules.ts';
import { RateLimiter, type RateLimits, type RequestRates } from '../auth/rate-limiter.ts';
import { SecretKeys } from '../auth/secret-keys.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import { isHostFolder } from '../cluster/host-folder.ts';
import { AttachedClients, ClientsOfHosts } from '../doors/attached-clients.ts';
import type { Clients } from '../doors/clients.ts';
import { Host } from '../host/host.ts';
import type { HostOptions } from '../host/host-options.ts';
import { RegistryError } from '../host/registry/database-files.ts';
import { appRoute } from '../http/app-files.ts';
import type { AppPlaces } from '../http/app-places.ts';
import type { ClusterDesk } from '../http/cluster-desk.ts';
import { RequestTimes } from '../http/request-times.ts';
import { makeRouter } from '../http/router.ts';
import { makeRoutes } from '../http/routes.ts';
import { limits } from '../limits.ts';
import { writeFileAtomically } from '../node/atomic-file.ts';
import { MachineClock } from '../node/clock.ts';
import { DirectoryLockedError, lockDirectory } from '../node/directory-lock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { noSpaceText } from '../node/folder-space.ts';
import type { WriterPlace } from '../node/writer-mark.ts';
import { identityToHex } from '../values/identity.ts';
import { callerIdentity, type DatabaseIdentity } from '../values/identity-roles.ts';
import { WebSocketDoor } from '../websocket/door.ts';
import { parameterFault } from '../websocket/parameters.ts';
import { acceptLossesIn } from './accept-losses.ts';
import type { ClusterHost } from './cluster-host.ts';
import {
  ConfigurationError,
  completeConfiguration,
  type GivenConfiguration,
  keyFilesOf,
  type ListenAddress,
  type ServiceConfiguration,
  type TlsFiles,
} from './configuration.ts';
import { consolePartsOf } from './console-parts.ts';
import { claimFolder, realFolder, securePermissions } from './data-folder.ts';
import { DescriptorReserve } from './descriptor-reserve.ts';
import { chooseIsolation } from './isolation-choice.ts';
import { type Handler, listen } from './listener.ts';
import { ListenerCopies } from './listener-copies.ts';
import { loginClientsOf } from './login-clients.ts';
import { lowSignedSince } from './low-signed.ts';
import { makeMcpDoor, mcpRulesOf, pageRulesOf } from './mcp-door.ts';
import { OrderlyStop } from './orderly-stop.ts';
import { measureProcess } from './process-figures.ts';
import { loadKeysOf } from './remembered-key.ts';
import { makeServiceLog, type ServiceLog } from './service-log.ts';
import { socketFigures } from './socket-figures.ts';
import { ServerEnd } from './stop-service.ts';
import { Upgrades } from './upgrades.ts';
import { productName, productVersion } from './version.ts';
import { WaitingRoom } from './waiting-room.ts';

/** A running service. */
export interface Service {
  /** The address of the service, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly address: ListenAddress;
  /** The databases, for code in the same process. */
  readonly host: Host;
  readonly tokens: HostTokens;
  /**
   * Reloads the key files after a rotation. If they are unusable, rejects and keeps the old keys.
   * Open connections stay open.
   */
  reloadKeys(): Promise<void>;
  /**
   * Resolves, with why, when another process runs as this host of a cluster. The service stops by
   * itself then. Never without a cluster.
   */
  readonly replaced: Promise<string>;
  /** Stops accepting requests, finishes accepted ones, makes everything durable. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a service: opens the data folder, starts its databases, and listens. Values missing from
 * `given` have the defaults of `configuration.ts`. Throws `ConfigurationError` if they are unsafe
 * or invalid, and other errors if the folder, the keys or the port are unusable.
 *
 * ```ts
 * const service = await startService({ listen: { host: '127.0.0.1', port: 0 } });
 * console.log(service.url);
 * await service.stop();
 * ```
 */
export function startService(given: GivenConfiguration = {}): Promise<Service> {
  return startServiceWith(given, {});
}

/** Starts a service whose host takes what `inside` has instead of making its own. */
export async function startServiceWith(
  given: GivenConfiguration,
  inside: Inside,
): Promise<Service> {
  const configuration = completeConfiguration(given);
  loginClientsOf(configuration);
  const log = makeServiceLog(configuration.logLevel);
  const releases: (() => Promise<void> | void)[] = [];
  try {
    return await assemble(configuration, { log, inside }, releases);
  } catch (error) {
    for (const release of releases.reverse()) await release();
    throw startError(error, configuration.dataDirectory);
  }
}

/** The part of a service that makes it a host of a cluster. */
export type ServiceCluster = Pick<
  ClusterHost,
  'appear' | 'opened' | 'drain' | 'close' | 'replaced' | 'doors'
> &
  Partial<Pick<ClusterHost, 'imported' | 'onKeys' | 'heldSecretsKey' | 'readSecret'>>;

/** What a service takes instead of making its own. */
export interface Inside extends Pick<HostOptions, 'makeLinker'> {
  readonly cluster?: ServiceCluster;
}

/** Separates faults that an operator can fix from bugs. */
function startError(error: unknown, dataDirectory = 'A file'): unknown {
  const noSpace = noSpaceText(error, dataDirectory);
  if (noSpace !== undefined) {
    const advice = 'Free some space, then start the service again.';
    return new ConfigurationError(`${noSpace}. ${advice}`, { cause: error });
  }
  if (error instanceof DirectoryLockedError) {
    const advice = 'Stop that service, or name another folder with --data-dir.';
    return new ConfigurationError(`${error.message}. ${advice}`, { cause: error });
  }
  const isExpected = error instanceof KeyError || error instanceof RegistryError;
  return isExpected ? new ConfigurationError(error.message, { cause: error }) : error;
}

/** Builds one of each part; if a later step fails, `releases` undoes the earlier ones. */
async function assemble(
  configuration: ServiceConfiguration,
  { log, inside }: { readonly log: ServiceLog; readonly inside: Inside },
  releases: (() => Promise<void> | void)[],
): Promise<Service> {
  const descriptors = reserveDescriptors(configuration, log);
  const { dataDirectory, writer } = await takeDataFolder(configuration, log, releases);
  const { cluster: given, ...own } = inside;
  const cluster = given ?? (await clusterHostOf(configuration, { dataDirectory, log }, releases));
  const keyFiles = keyFilesOf(configuration);
  const isNewPair = !existsSync(keyFiles.privateKeyFile);
  const readKeys = () => loadKeysOf(dataDirectory, keyFiles);
  const tokens = new HostTokens(await readKeys(), {
    ...tokenRulesOf(configuration, log),
    lowSignedSince: await lowSignedSince(dataDirectory, isNewPair),
    // No request arrives before the host is open.
    isRevoked: (id) => host.grants.isRevoked(id),
  });
  const waitingRoom = new WaitingRoom();
  const addresses = proxiesOf(configuration);
  const server = await listen({
    ...{ configuration, addresses, descriptors },
    handler: waitingRoom.handler,
    report: (level, message) => log.report({ level, message }),
  });
  const copies = ListenerCopies.of(server, configuration.bounds.connectionsAtOnce - 1);
  const end = new ServerEnd(server, copies);
  const upgrades = new Upgrades(server);
  releases.push(() => end.close(0));
  releases.push(() => upgrades.end());
  const secretKeys = secretKeysOf(dataDirectory, keyFiles);
  secretKeys.hold(cluster?.heldSecretsKey);
  const folder = { dataDirectory, writer, log, secretKeys };
  const part = await cluster?.appear(addressOf(server));
  const options = { ...hostOptionsOf(configuration, folder), cluster: part?.forHost };
  const adopts = cluster?.imported && { adopts: cluster.imported };
  const host = await Host.open({ ...options, ...adopts, ...own });
  const desk = cluster?.opened(host);
  const stop = new OrderlyStop();
  releases.push(() => host.close(stop.millisLeft));
  const pages = pageRulesOf(configuration);
  const places = appPlacesOf(configuration, pages);
  const gate = { tokens, addresses, rates: ratesOf(configuration), pages };
  const sockets = makeSocketDoor(configuration, { host, gate, log, part });
  releases.push(() => sockets.close(0));
  const registry = measureProcess(dataDirectory, releases);
  const parts = { host, gate, log, sockets, stopping: stop.signal, registry, places, part };
  const handler = makeHandler(configuration, { ...parts, cluster: desk });
  waitingRoom.open(handler);
  upgrades.open(sockets);
  cluster?.doors.open(handler, sockets);
  const address = addressOf(server);
  log.report({ level: 'info', message: `listening on ${urlOf(address, configuration.tls)}` });
  const stopOnce = once(() => stop.run({ log, cluster, sockets, host, end, releases }));
  void cluster?.replaced.then(stopOnce);
  const reloadKeys = async () => {
    tokens.useKeys(await readKeys());
    secretKeys.hold(cluster?.heldSecretsKey);
    secretKeys.reload();
    await host.secretKeysRenewed();
  };
  cluster?.onKeys?.(reloadKeys);
  return {
    ...{ url: urlOf(address, configuration.tls), address, host, tokens },
    replaced: cluster?.replaced ?? never,
    reloadKeys: async () => {
      await cluster?.readSecret?.();
      await reloadKeys();
    },
    stop: stopOnce,
  };
}

function tokenRulesOf(
  { issuer, tokenSeconds, issuers }: ServiceConfiguration,
  log: ServiceLog,
): Pick<HostTokensOptions, 'issuer' | 'lifeSeconds' | 'issuers'> {
  const report = (message: string) => log.report({ level: 'warn', message });
  return { issuer, lifeSeconds: tokenSeconds, issuers: new Issuers(issuers, { report }) };
}

function appPlacesOf(
  { publicUrl, tls }: ServiceConfiguration,
  { apps }: Pick<ReturnType<typeof pageRulesOf>, 'apps'>,
): AppPlaces {
  return { hosts: apps, publicUrl, scheme: tls === undefined ? 'http' : 'https' };
}

const never = new Promise<never>(() => undefined);

/** Without a cluster none of its parts are loaded. */
async function clusterHostOf(
  configuration: ServiceConfiguration,
  { dataDirectory, log }: Pick<DataFolder, 'dataDirectory'> & { readonly log: ServiceLog },
  releases: (() => Promise<void> | void)[],
): Promise<ClusterHost | undefined> {
  const { cluster, importsFolder } = configuration;
  if (dataDirectory === undefined) return undefined;
  if (cluster === undefined) {
    if (importsFolder) throw new ConfigurationError(importAloneText);
    if (isHostFolder(dataDirectory)) throw new ConfigurationError(aloneText(dataDirectory));
    return undefined;
  }
  const { ClusterHost } = await import('./cluster-host.ts');
  const host = await ClusterHost.join(configuration, cluster, { dataDirectory, log });
  releases.push(() => host.close());
  return host;
}

const importAloneText =
  '--import brings a data folder into a cluster: name its engine with --cluster ' +
  'postgres://USER@HOST/DATABASE, or leave --import out.';

function aloneText(folder: string): string {
  return (
    `${folder} belongs to a host of a cluster: start it with --cluster and the address of its ` +
    'engine. Alone it would write to copies of databases that the other hosts go on without.'
  );
}

/** Secrets of databases in memory are encrypted with a key in memory. */
function secretKeysOf(dataDirectory: string | undefined, { privateKeyFile }: KeyFiles): SecretKeys {
  const folder = dataDirectory === undefined ? undefined : path.dirname(privateKeyFile);
  return new SecretKeys(folder, writeFileAtomically);
}

function hostOptionsOf(
  configuration: ServiceConfiguration,
  {
    dataDirectory,
    writer,
    log,
    secretKeys,
  }: DataFolder & { readonly log: ServiceLog; readonly secretKeys: SecretKeys },
): HostOptions {
  return {
    directory: dataDirectory,
    writer,
    placement: configuration.placement,
    isolation: chooseIsolation({ ...configuration, dataDirectory }).rules,
    startDatabases: configuration.startDatabases,
    sleepAfterMillis: configuration.sleepAfterMillis,
    isDevelopment: configuration.isDevelopment,
    creators: configuration.publishPolicy ?? 'anyone',
    operators: configuration.operators.map(callerIdentity),
    issuer: configuration.issuer,
    clock: new MachineClock(),
    entropy: new MachineEntropy(),
    budget: configuration.budget,
    moduleLogs: configuration.moduleLogs,
    quotas: configuration.quotas,
    history: configuration.history,
    ledger: configuration.ledger,
    outbound: configuration.moduleHttp,
    secretKeys,
    repositories: configuration.repositories,
    archive: archiveOf(configuration),
    keyDirectory: path.dirname(keyFilesOf(configuration).privateKeyFile),
    keepReplacedMillis: configuration.keepReplacedMillis,
    program: `${productName} ${productVersion}`,
    report: (line) => log.report(line),
  };
}

function archiveOf({ archive }: ServiceConfiguration): HostOptions['archive'] {
  const { repository, ...rest } = archive;
  return repository === undefined ? undefined : { ...rest, repository };
}

function reserveDescriptors({ bounds }: ServiceConfiguration, log: ServiceLog): DescriptorReserve {
  const descriptors = new DescriptorReserve();
  const message = descriptors.warning(bounds.connectionsMax);
  if (message !== undefined) log.report({ level: 'warn', message });
  return descriptors;
}

interface DataFolder {
  /** Its real path; `undefined`: databases are in memory. */
  readonly dataDirectory: string | undefined;
  readonly writer: WriterPlace | undefined;
}

/** Locks the data folder, if there is one, for this service. */
async function takeDataFolder(
  { dataDirectory: named, acceptedLosses }: ServiceConfiguration,
  log: ServiceLog,
  releases: (() => Promise<void> | void)[],
): Promise<DataFolder> {
  if (named !== undefined) mkdirSync(named, { recursive: true, mode: 0o700 });
  const folder = named === undefined ? undefined : realFolder(named);
  let writer: WriterPlace | undefined;
  if (folder !== undefined) {
    const lock = lockDirectory(folder);
    if (lock.kind === 'file') reportWeakLock(folder, log);
    const claim = await claimFolder(lock);
    releases.push(() => claim.release());
    writer = claim.writer;
    securePermissions(folder, (level, message) => log.report({ level, message }));
  }
  await acceptLossesIn(folder, acceptedLosses, log);
  return { dataDirectory: folder, writer };
}

function reportWeakLock(folder: string, log: ServiceLog): void {
  if (process.platform !== 'linux') return;
  const message =
    `${folder} cannot be locked in the kernel. A second service in another container is not ` +
    'refused; the one that started first then stops its databases. Install the command `flock` ' +
    '(util-linux or BusyBox)';
  log.report({ level: 'warn', message });
}

/** Runs `work` once; later calls wait for the first. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work();
    return running;
  };
}

/** The checks that both doors apply to a request first. */
interface Gate {
  readonly tokens: HostTokens;
  readonly addresses: ClientAddresses;
  readonly rates: RequestRates;
  readonly pages: PageRules;
}

function proxiesOf({ trustedProxies }: ServiceConfiguration): ClientAddresses {
  try {
    return new ClientAddresses(trustedProxies);
  } catch (cause) {
    throw new ConfigurationError(`--trusted-proxy: ${(cause as Error).message}`, { cause });
  }
}

function ratesOf({ rates }: ServiceConfiguration): RequestRates {
  return {
    byIdentity: new RateLimiter(rates.identityRequestsPerSecond),
    byAddress: new RateLimiter(rates.addressRequestsPerSecond),
    ofGivenUpTokens: givenUpTokensLimiter(rates),
  };
}

/** Limits giving up tokens: each is remembered, and one client must not use up the room. */
function givenUpTokensLimiter({ addressRequestsPerSecond }: RateLimits): RateLimiter {
  const unlimited = Number.POSITIVE_INFINITY;
  if (addressRequestsPerSecond === unlimited) return new RateLimiter(unlimited);
  const atOnce = limits.givenUpTokensPerHour;
  return new RateLimiter(atOnce / 3_600, { atOnce });
}

interface Parts {
  readonly host: Host;
  readonly cluster: ClusterDesk | undefined;
  readonly gate: Gate;
  readonly log: ServiceLog;
  readonly sockets: WebSocketDoor;
  readonly stopping: AbortSignal;
  readonly registry: Registry;
  readonly places: AppPlaces;
  /** Absent: the service is alone. */
  readonly part: ClusterPart | undefined;
}

function makeSocketDoor(
  { websocket, bounds }: ServiceConfiguration,
  { host, gate, log, part }: Pick<Parts, 'host' | 'gate' | 'log' | 'part'>,
): WebSocketDoor {
  const onError = (error: unknown, doing: string) => log.failure(error, doing);
  const socketsMax = Math.floor(bounds.connectionsMax * limits.socketsShareMax);
  const rest = { limits: websocket, socketsMax, onError, cluster: part };
  return new WebSocketDoor({ host, ...gate, ...rest });
}

/** Who is connected: with this service, and with other hosts while this one leads. */
function clientsOf({ host, gate, sockets, part }: Parts): Clients {
  if (part === undefined) return sockets;
  const attached = new AttachedClients({ host, tokens: gate.tokens });
  part.lines.attach(attached, sockets);
  return new ClientsOfHosts(sockets, attached, (...asked) => part.lines.ask(...asked));
}

function makeHandler(configuration: ServiceConfiguration, parts: Parts): Handler {
  const { host, cluster, gate, log, sockets, stopping, registry, places, part } = parts;
  const { tokens, rates } = gate;
  const clock = new MachineClock();
  const onError = (error: unknown, method: string, path: string) =>
    log.failure(error, `answering ${method} ${path}`);
  const routes = makeRoutes({
    onError,
    ...{ host, cluster, tokens, rates },
    confirms: part !== undefined,
    stopping,
    packageName: productName,
    version: productVersion,
    strangersCreate: typeof (configuration.publishPolicy ?? 'anyone') === 'string',
    programBytesMax: configuration.bounds.programBytesMax,
    handlerBodyBytesMax: configuration.bounds.handlerBodyBytesMax,
    nowMicros: () => clock.nowMicros(),
    places,
    ...consolePartsOf(configuration, { tokens, log }),
    metricsFor: configuration.metricsFor,
    subscribeFault: parameterFault,
    figures: () => socketFigures(sockets.statistics()),
    clients: clientsOf(parts),
    registry,
    publicUrl: configuration.publicUrl,
    mcp: makeMcpDoor({
      ...{ host, log, stopping, answerBytes: configuration.mcpAnswerBytes },
      confirms: part !== undefined,
      hostName: part?.name,
    }),
    mcpRules: mcpRulesOf(configuration),
  });
  const times = new RequestTimes(registry);
  const onAnswer = times.observe.bind(times);
  const { bounds } = configuration;
  const nowMillis = () => Date.now();
  const apps = {
    route: appRoute({ host, places, nowMillis }),
    isSameDatabase: (one: string, other: string) => host.isSame(one, other),
  };
  const onTurnedAway = host.ledger.turnedAway.bind(host.ledger);
  const told = { onAnswer, onTurnedAway, onError };
  const routing = part && {
    part,
    resolve: (target: string) => host.resolve(target),
    database: (identity: DatabaseIdentity) => host.database(identityToHex(identity)),
  };
  const router = makeRouter({ routes, apps, ...gate, bounds, ...told, cluster: routing });
  return router.fetch as Handler;
}

function addressOf(server: Server): ListenAddress {
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port };
}

function urlOf({ host, port }: ListenAddress, tls: TlsFiles | undefined): string {
  const scheme = tls === undefined ? 'http' : 'https';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
