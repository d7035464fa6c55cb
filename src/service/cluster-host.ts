import { readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import { ClusterError } from '../cluster/cluster-error.ts';
import { ClusterPart } from '../cluster/cluster-part.ts';
import { ClusterSecret } from '../cluster/cluster-secret.ts';
import { type JoinedHost, joinCluster, postgresReach } from '../cluster/join-cluster.ts';
import type { Host } from '../host/host.ts';
import type { ClusterDesk } from '../http/cluster-desk.ts';
import { limits } from '../limits.ts';
import { entryVersion } from '../shared-log/entry.ts';
import { EngineError } from '../shared-log/shared-log.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { type ClusterChoice, isWildcard } from './cluster-choice.ts';
import { makeClusterDesk } from './cluster-desk.ts';
import { ClusterDoors } from './cluster-doors.ts';
import {
  ConfigurationError,
  keyFilesOf,
  type ListenAddress,
  type ServiceConfiguration,
} from './configuration.ts';
import { hasData } from './data-folder.ts';
import { chooseIsolation } from './isolation-choice.ts';
import { secretVariable } from './secret-variable.ts';
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
  readonly #configuration: ServiceConfiguration;
  readonly #choice: ClusterChoice;
  readonly #secret: ClusterSecret;
  readonly #joined: JoinedHost;
  readonly #log: ServiceLog;
  #part: ClusterPart | undefined;
  #isReplaced = false;
  #tellReplaced: (message: string) => void = () => undefined;

  private constructor(
    configuration: ServiceConfiguration,
    choice: ClusterChoice,
    parts: {
      readonly secret: ClusterSecret;
      readonly joined: JoinedHost;
      readonly log: ServiceLog;
    },
  ) {
    this.#configuration = configuration;
    this.#choice = choice;
    this.#secret = parts.secret;
    this.#joined = parts.joined;
    this.#log = parts.log;
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
    refuseProcesses(configuration);
    const report = log.report.bind(log);
    const keyFiles = keyFilesOf(configuration);
    return explained(async () => {
      const secret = readSecret(choice);
      const hasDatabases = hasData(dataDirectory);
      const joined = await joinCluster({
        ...{ dataDirectory, hasDatabases, keyFiles, secret, report },
        ...{ leaseMillis: choice.leaseMillis, allowsSingle: choice.allowsSingle },
        reach: postgresReach(choice.engine, choice.gatherMillis, report),
      });
      return new ClusterHost(configuration, choice, { secret, joined, log });
    });
  }

  /**
   * Shows the host to the others, and gives what its databases need; from then on it takes part.
   * `address`: where clients reach it. Rejects with `ConfigurationError`.
   */
  async appear(address: ListenAddress): Promise<ClusterPart> {
    const { hostName: name, zone, listen, advertise, leaseMillis, localSync } = this.#choice;
    const clientAddress = clientAddressOf(this.#configuration, this.#choice, address);
    const part = await explained(() =>
      ClusterPart.start({
        ...{ joined: this.#joined, secret: this.#secret, leaseMillis, listen, advertise },
        now: () => performance.now(),
        facts: {
          ...{ name, zone, clientAddress, version: productVersion, formats: entryFormats },
          memoryBytes: os.totalmem(),
        },
        waitsForLocalSync: localSync,
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
    return part;
  }

  /** The databases run: from now on they can be moved; gives what the doors show of the cluster. */
  opened(host: Host): ClusterDesk | undefined {
    const part = this.#part;
    if (part === undefined) return undefined;
    const { replication } = host;
    part.attach({
      wake: (database) => replication.wake(database),
      handOver: (database, to) => replication.handOver(database, to),
      offsetsOf: (database) => offsetsOf(host, database),
      changeRegistry: (change) => replication.changeRegistry(change),
      untilRegistry: (offset, millisMax) => replication.untilRegistry(offset, millisMax),
      get registryOffset() {
        return replication.registryOffset;
      },
    });
    return makeClusterDesk({ part, joined: this.#joined, choice: this.#choice, host });
  }

  /** Gives the databases that it leads to other hosts, within a time. */
  async drain(millisMax: number): Promise<void> {
    if (this.#part === undefined || this.#isReplaced) return;
    const left = await this.#part.drain(AbortSignal.timeout(millisMax));
    if (left === 0) return;
    const message = `${left} databases stay without a leader until another host takes them over`;
    this.#log.report({ level: 'warn', message });
  }

  /** Says goodbye; the databases have been closed before. */
  async close(): Promise<void> {
    const part = this.#part;
    await awake(() => (part === undefined ? this.#joined.close() : part.close()));
  }
}

function offsetsOf(host: Host, database: DatabaseIdentity) {
  try {
    const { handle } = host.database(identityToHex(database));
    const { offset, durableOffset } = handle.statistics();
    return { offset, acknowledged: durableOffset };
  } catch {
    // The registry, or a database that is just removed.
    return undefined;
  }
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

/** Oldest and newest format of entries that this version reads. */
const entryFormats = [entryVersion, entryVersion] as const;

function refuseProcesses(configuration: ServiceConfiguration): void {
  const { rules, reason } = chooseIsolation(configuration);
  if (![rules.everywhere, ...rules.exceptions.values()].includes('process')) return;
  throw new ConfigurationError(
    `Databases would run in processes of their own (${reason}), and those of a cluster run on ` +
      'threads so far. Start with --isolation thread and without --isolation-of; who may publish ' +
      'then decides what code runs here.',
  );
}

function readSecret({ secret, secretFile }: ClusterChoice): ClusterSecret {
  if (secret !== undefined && secretFile !== undefined) {
    throw new ClusterError(
      `The cluster secret is given twice: in ${secretVariable}, and by --cluster-secret-file ` +
        `(${secretFile}). Take one of them away.`,
    );
  }
  if (secret !== undefined) return ClusterSecret.parse(secret, secretVariable);
  if (secretFile === undefined) throw new ClusterError(noSecretText);
  return ClusterSecret.parse(secretIn(secretFile), secretFile);
}

function secretIn(file: string): string {
  try {
    const found = statSync(file);
    if (!found.isFile() || found.size > limits.clusterSecretFileBytesMax) {
      throw new Error('it is not a file with a secret');
    }
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const text = `--cluster-secret-file: ${file} cannot be read: ${(cause as Error).message}`;
    throw new ClusterError(text, { cause });
  }
}

const noSecretText =
  `A host of a cluster needs the secret that all its hosts have: set ${secretVariable}, or name ` +
  'a file with --cluster-secret-file. Make one once, for all hosts, with: openssl rand -base64 32';

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
