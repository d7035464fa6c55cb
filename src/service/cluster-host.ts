import os from 'node:os';
import { present } from '../assert.ts';
import { ClusterError } from '../cluster/cluster-error.ts';
import { ClusterPart } from '../cluster/cluster-part.ts';
import type { ClusterSecret } from '../cluster/cluster-secret.ts';
import { EngineCopies } from '../cluster/engine-copies.ts';
import type { HostedDatabases } from '../cluster/hosted-databases.ts';
import {
  type ImportGoal,
  isImportUnderWay,
  markImport,
  type RegistryImport,
  registryImport,
  storeLogs,
} from '../cluster/import-folder.ts';
import { engineReach, type JoinedHost, joinCluster } from '../cluster/join-cluster.ts';
import { keepLedLogs } from '../cluster/keep-led-logs.ts';
import type { LogKeeper } from '../cluster/log-keeper.ts';
import type { Copy } from '../cluster/operations.ts';
import { repairFromHere } from '../cluster/repair-logs.ts';
import type { EnginePlace } from '../engines/engine-place.ts';
import { placeWith } from '../engines/open-engine.ts';
import type { Host } from '../host/host.ts';
import { DatabaseFiles } from '../host/registry/database-files.ts';
import { registryIdentity, registryOwner } from '../host/registry/registry.ts';
import type { ClusterDesk } from '../http/cluster-desk.ts';
import { limits } from '../limits.ts';
import { MachineClock } from '../node/clock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { entryVersion, restartFormat } from '../shared-log/entry.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { logName } from '../shared-log/log-name.ts';
import { EngineError } from '../shared-log/shared-log.ts';
import { bigintToHex } from '../values/hex.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { type ClusterChoice, isWildcard } from './cluster-choice.ts';
import { makeClusterDesk } from './cluster-desk.ts';
import { ClusterDoors } from './cluster-doors.ts';
import { readClusterSecret } from './cluster-secret-choice.ts';
import { snapshotsOf } from './cluster-snapshots.ts';
import {
  ConfigurationError,
  keyFilesOf,
  type ListenAddress,
  type ServiceConfiguration,
} from './configuration.ts';
import { hasData } from './data-folder.ts';
import { engineDefaults } from './engine-defaults.ts';
import { readKeysFile } from './repositories.ts';
import { requireFreePort } from './require-free-port.ts';
import type { ServiceLog } from './service-log.ts';
import { productVersion } from './version.ts';

export interface Surroundings {
  readonly dataDirectory: string;
  readonly log: ServiceLog;
}

/** The part of a service that makes it a host of a cluster. */
export class ClusterHost {
  /** Where other hosts send what is led here. */
  readonly doors = new ClusterDoors();
  /** Resolves, with why, when another process runs as this host. */
  readonly replaced: Promise<string>;
  /** What the registry of the cluster is to be told of databases that the folder brought along. */
  readonly imported: RegistryImport | undefined;
  readonly #configuration: ServiceConfiguration;
  readonly #choice: ClusterChoice;
  readonly #secret: ClusterSecret;
  readonly #joined: JoinedHost;
  readonly #log: ServiceLog;
  readonly #dataDirectory: string;
  #part: ClusterPart | undefined;
  #keeper: LogKeeper | undefined;
  readonly #copies: EngineCopies;
  #isReplaced = false;
  #tellReplaced: (message: string) => void = () => undefined;

  private constructor(
    configuration: ServiceConfiguration,
    choice: ClusterChoice,
    parts: {
      readonly secret: ClusterSecret;
      readonly joined: JoinedHost;
      readonly log: ServiceLog;
      readonly imported: RegistryImport | undefined;
      readonly dataDirectory: string;
    },
  ) {
    this.#dataDirectory = parts.dataDirectory;
    const { log, joined } = parts;
    this.#copies = new EngineCopies({ engine: joined.engine, report: log.report.bind(log) });
    this.#configuration = configuration;
    this.#choice = choice;
    this.#secret = parts.secret;
    this.#joined = parts.joined;
    this.#log = parts.log;
    this.imported = parts.imported;
    this.replaced = new Promise((resolve) => {
      this.#tellReplaced = resolve;
    });
  }

  /**
   * Makes the service a host of the cluster that the configuration names, before its keys are
   * read: they are the cluster's. Rejects with `ConfigurationError`.
   */
  static async join(
    configuration: ServiceConfiguration,
    choice: ClusterChoice,
    { dataDirectory, log }: Surroundings,
  ): Promise<ClusterHost> {
    const report = log.report.bind(log);
    const keyFiles = keyFilesOf(configuration);
    return explained(async () => {
      const secret = readClusterSecret(choice);
      const place = placeOf(choice);
      const hasDatabases = hasData(dataDirectory);
      const folder = {
        dataDirectory,
        report,
        clock: new MachineClock(),
        entropy: new MachineEntropy(),
      };
      const { importsFolder } = configuration;
      if (importsFolder) {
        if (!hasDatabases) throw new ClusterError(nothingText(dataDirectory));
        await requireFreePort(choice.listen, '--cluster-listen');
        await requireFreePort(configuration.listen, '--listen-addr');
      }
      const importInto = async (goal: Omit<ImportGoal, 'name'>): Promise<void> => {
        await storeLogs(folder, { ...goal, name: choice.hostName });
        await markImport(dataDirectory);
      };
      const joined = await joinCluster({
        ...{ dataDirectory, hasDatabases, keyFiles, secret, report },
        ...{ leaseMillis: choice.leaseMillis, allowsSingle: choice.allowsSingle },
        isReadByLease: choice.reads === 'lease',
        reach: engineReach(place, choice.gatherMillis, report),
        importInto: importsFolder ? importInto : undefined,
        snapshots: await snapshotsOf(choice, configuration.repositories ?? []),
      });
      const imported = isImportUnderWay(dataDirectory) ? await registryImport(folder) : undefined;
      return new ClusterHost(configuration, choice, {
        secret,
        joined,
        log,
        imported,
        dataDirectory,
      });
    });
  }

  /**
   * Shows the host to the others, and gives what its databases need; from then on it takes part.
   * `address`: where clients reach it. Rejects with `ConfigurationError`.
   */
  async appear(address: ListenAddress): Promise<ClusterPart> {
    const {
      hostName: name,
      zone,
      listen,
      advertise,
      leaseMillis,
      localSync,
      copies,
      reads,
    } = this.#choice;
    const clientAddress = clientAddressOf(this.#configuration, this.#choice, address);
    const part = await explained(() =>
      ClusterPart.start({
        ...{ joined: this.#joined, secret: this.#secret, leaseMillis, listen, advertise },
        beatMillis: engineDefaults(this.#choice.engine.kind).beatMillis,
        now: () => performance.now(),
        facts: {
          ...{ name, zone, clientAddress, version: productVersion, formats: entryFormats },
          memoryBytes: os.totalmem(),
        },
        ...{ waitsForLocalSync: localSync, copies, isReadByLease: reads === 'lease' },
        report: this.#log.report.bind(this.#log),
        onReplaced: (message) => {
          this.#isReplaced = true;
          this.#log.report({ level: 'error', message });
          this.#tellReplaced(message);
        },
        ...{ onRequest: this.doors.onRequest, onUpgrade: this.doors.onUpgrade },
      }),
    );
    this.#part = part;
    if (!this.#choice.allowsSingle) this.#copies.start();
    if (reads === 'lease') this.#log.report({ level: 'warn', message: leaseWarning });
    return part;
  }

  /** The databases run: from now on they can be moved; gives what the doors show of the cluster. */
  opened(host: Host): ClusterDesk | undefined {
    const part = this.#part;
    if (part === undefined) return undefined;
    const repair = (database: DatabaseIdentity) => this.#repair(part, host, database);
    part.attach(Object.assign(hostedDatabases(host), { repair }));
    this.#keeper = keepLedLogs({
      ...{ part, joined: this.#joined, dataDirectory: this.#dataDirectory },
      facts: (database) => factsOf(host, database),
      report: this.#log.report.bind(this.#log),
    });
    return makeClusterDesk({ part, joined: this.#joined, choice: this.#choice, host });
  }

  /**
   * Gives the databases that it leads to other hosts, within a time. Returns false if the engine
   * takes no commits: then none can be given, and nothing that waits for it is worth waiting for.
   */
  async drain(millisMax: number): Promise<boolean> {
    const part = this.#part;
    if (part === undefined || this.#isReplaced) return true;
    const { engine } = part;
    if (engine.isAway || !(await engine.answers(limits.stopWithoutEngineMillis))) {
      const trouble = engine.trouble ?? 'it does not answer';
      const message =
        `${countText(part.ledCount)} not handed over, because the engine of the cluster takes no ` +
        `commits (${trouble}). Calls that it has not acknowledged end with an unknown outcome; ` +
        'other hosts take over when it is back';
      this.#log.report({ level: 'warn', message });
      return false;
    }
    const left = await part.drain(AbortSignal.timeout(millisMax));
    if (left.length === 0) return true;
    const count = left.length;
    const message = `${count} databases stay without a leader until another host takes them over`;
    this.#log.report({ level: 'warn', message });
    return true;
  }

  async #repair(part: ClusterPart, host: Host, database: DatabaseIdentity) {
    const files = new DatabaseFiles(this.#dataDirectory);
    const isRegistry = database === registryIdentity;
    const { generation, shown } = factsOf(host, database) ?? { generation: 0, shown: '(registry)' };
    const directory = isRegistry ? files.registry : files.logDirectory(database, generation);
    const { living } = part.membership;
    const answered = (await part.operations?.copies()) ?? new Map<HostId, readonly Copy[]>();
    const byHost = [...answered];
    const isUnknown = (copy: Copy) => copy.database === database && !copy.isKnown;
    const unknown = byHost.filter(([one, copies]) => {
      return one !== this.#joined.host && copies.some(isUnknown);
    });
    const outcome = await repairFromHere({
      ...{ database, shown, generation, joined: this.#joined, name: this.#choice.hostName },
      owner: isRegistry ? registryOwner : host.registered(identityToHex(database)).owner,
      directory: directory ?? this.#dataDirectory,
      snapshots: isRegistry
        ? undefined
        : part.snapshotsOf(logName(this.#joined.cluster, database, generation)),
      copies: byHost.flatMap(([, copies]) => copies.filter((copy) => copy.database === database)),
      unknownAt: unknown.map(([one]) => part.membership.hostOf(one)?.name ?? bigintToHex(one, 32)),
      silentAt: living.filter((one) => !answered.has(one.host)).map(({ name }) => name),
      ends: await part.forHost.acknowledgedElsewhere(database),
      report: this.#log.report.bind(this.#log),
    });
    host.replication.wake(database);
    return outcome;
  }

  /** Calls `reload` when the key files have changed, because another host has rotated keys. */
  onKeys(reload: () => Promise<void>): void {
    this.#joined.keys?.start(reload);
  }

  /** The key for secrets of databases that does not encrypt yet, as hosts lack it. */
  get heldSecretsKey(): string | undefined {
    return this.#joined.keys?.heldSecretsKey;
  }

  /** Reads the file of the cluster secret again. Rejects with `ClusterError`. */
  async readSecret(): Promise<void> {
    if (this.#choice.secretFile === undefined) return;
    const isDropped = await this.#joined.keys?.useSecret(readClusterSecret(this.#choice));
    if (isDropped === true) this.#part?.server.endConnections();
  }

  /** Says goodbye; the databases have been closed before. */
  async close(): Promise<void> {
    const part = this.#part;
    this.#copies.close();
    this.#joined.keys?.stop();
    await this.#keeper?.close();
    await awake(() => (part === undefined ? this.#joined.close() : part.close()));
  }
}

function countText(count: number): string {
  return count === 1 ? '1 database was' : `${count} databases were`;
}

/** The databases of a host, as its part in the cluster needs them. */
export function hostedDatabases(host: Host): HostedDatabases {
  const { replication } = host;
  return {
    wake: (database) => replication.wake(database),
    handOver: (database, to) => replication.handOver(database, to),
    noteSettled: (database, note) => replication.noteSettled(database, note),
    stateOf: (database) => replication.stateOf(database),
    offsetsOf: (database) => offsetsOf(host, database),
    ownLog: (database, lines) => replication.ownLog(database, lines),
    renewLead: (database) => replication.renewLead(database),
    hasJob: (id) => host.jobs.has(id),
    placed: () => replication.placed(),
    takeUp: (database) => replication.takeUp(database),
    letGo: (database) => replication.letGo(database),
    changeRegistry: (change) => replication.changeRegistry(change),
    untilRegistry: (offset, millisMax) => replication.untilRegistry(offset, millisMax),
    get registryOffset() {
      return replication.registryOffset;
    },
  };
}

function factsOf(host: Host, database: DatabaseIdentity) {
  try {
    const { generation } = host.registered(identityToHex(database));
    return { generation, shown: host.namesOf(database)[0] ?? identityToHex(database) };
  } catch {
    // It was just removed.
    return undefined;
  }
}

function offsetsOf(
  host: Host,
  database: DatabaseIdentity,
): ReturnType<NonNullable<HostedDatabases['offsetsOf']>> {
  const {
    offset,
    acknowledgedOffset: acknowledged,
    term = 0,
  } = host.replication.stateOf(database) ?? {};
  if (offset === undefined || acknowledged === undefined) return undefined;
  return { offset, acknowledged, term, ...host.replication.sizesOf(database) };
}

/** Where clients reach this host itself. */
export function clientAddressOf(
  { publicUrl, tls }: Pick<ServiceConfiguration, 'publicUrl' | 'tls'>,
  { advertise }: ClusterChoice,
  { host, port }: ListenAddress,
): string {
  if (publicUrl !== undefined) return publicUrl;
  // What others call this host is what clients beside them can call it, too.
  const named = advertise?.slice(0, advertise.lastIndexOf(':'));
  const shown = isWildcard(host) && named !== undefined ? named : bracketed(host);
  return `${tls === undefined ? 'http' : 'https'}://${shown}:${port}`;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Oldest and newest format of entries that this version reads: it knows those to begin at, too. */
const entryFormats = [entryVersion, restartFormat] as const;

/** The engine, with the keys that open it. */
function placeOf({ engine, storeKeys, storeKeysFile }: ClusterChoice): EnginePlace {
  const keys =
    storeKeysFile === undefined ? storeKeys : readKeysFile(storeKeysFile, '--cluster-keys-file:');
  return present(placeWith(engine, keys), 'a choice of a store has its keys');
}

const leaseWarning =
  'Leaders of this cluster answer confirmed reads by their own clock (cluster.reads = "lease"): ' +
  'on a virtual machine that was paused, that clock stood still, and such a read can be old';

function nothingText(folder: string): string {
  return (
    `--import: ${folder} holds no databases. Name the data folder of the single machine with ` +
    '--data-dir, or leave --import out.'
  );
}

/** Waits for the engine: its thread alone does not keep the process, which has no port yet. */
async function awake<Result>(work: () => Promise<Result>): Promise<Result> {
  const hold = setInterval(() => undefined, limits.leaseMillisMax);
  try {
    return await work();
  } finally {
    clearInterval(hold);
  }
}

/** What keeps a service from being a host is the operator's to change. */
async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await awake(work);
  } catch (error) {
    const isExpected = error instanceof ClusterError || error instanceof EngineError;
    throw isExpected ? new ConfigurationError(error.message, { cause: error }) : error;
  }
}
