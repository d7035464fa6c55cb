import os from 'node:os';
import type { RepositoryPlace } from '../backup/parse-place.ts';
import type { S3Keys } from '../backup/s3-settings.ts';
import { type EngineAddress, parseEngineAddress } from '../engines/engine-place.ts';
import { limits } from '../limits.ts';
import { engineDefaults } from './engine-defaults.ts';

/** Which cluster a service belongs to, and as what. */
export interface ClusterChoice {
  /** Where the shared logs are. */
  readonly engine: EngineAddress;
  /** The keys of the store, if that is what the engine is, or a file that holds them. */
  readonly storeKeys: S3Keys | undefined;
  readonly storeKeysFile: string | undefined;
  readonly hostName: string;
  /** Where this host listens for others; port 0 takes any. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Where the others reach it; `undefined`: where it listens. */
  readonly advertise: string | undefined;
  /** Empty: the operator names none. */
  readonly zone: string;
  /** The secret of the cluster in base64, or a file that holds it. */
  readonly secret: string | undefined;
  readonly secretFile: string | undefined;
  /** False: a commit is acknowledged when the engine has it. */
  readonly localSync: boolean;
  /** How long an append waits for others; 0: not at all. */
  readonly gatherMillis: number;
  /** True: an engine that keeps one copy is accepted. */
  readonly allowsSingle: boolean;
  readonly leaseMillis: number;
  /** What a leader asks before it answers a confirmed read. */
  readonly reads: 'engine' | 'lease';
  /** Where snapshots are that hosts share; `undefined`: in the engine. */
  readonly snapshots: RepositoryPlace | undefined;
  /** Hosts that have a copy of each database, unless its operator says otherwise. */
  readonly copies: number;
}

/** What an operator says of it: an engine, or nothing that needs one. */
export type GivenCluster = Partial<Omit<ClusterChoice, 'listen'>> & {
  /** Without a host: the one that the service listens on. */
  readonly listen?: { readonly host: string | undefined; readonly port: number };
};

interface Around {
  readonly dataDirectory: string | undefined;
  readonly listen: { readonly host: string };
}

type Reading =
  | { readonly kind: 'valid'; readonly choice: ClusterChoice | undefined }
  | { readonly kind: 'invalid'; readonly fault: string };

/** Fills in defaults, and refuses what cannot be. */
export function completeCluster(given: GivenCluster, { dataDirectory, listen }: Around): Reading {
  const { secret, storeKeys, engine, ...rest } = given;
  if (engine === undefined) {
    // Secrets in the environment of all services of a machine do no harm.
    const [idle] = Object.keys(rest);
    return idle === undefined ? { kind: 'valid', choice: undefined } : invalid(idleText);
  }
  if (dataDirectory === undefined) return invalid(inMemoryText);
  const defaults = engineDefaults(engine.kind);
  const links = { host: listen.host, port: limits.clusterPort };
  const choice: ClusterChoice = {
    ...{ engine, secret, storeKeys, storeKeysFile: given.storeKeysFile },
    hostName: given.hostName ?? machineName(),
    listen: { host: given.listen?.host ?? links.host, port: given.listen?.port ?? links.port },
    advertise: given.advertise,
    zone: given.zone ?? '',
    secretFile: given.secretFile,
    localSync: given.localSync ?? true,
    gatherMillis: given.gatherMillis ?? defaults.gatherMillis,
    allowsSingle: given.allowsSingle ?? false,
    leaseMillis: given.leaseMillis ?? defaults.leaseMillis,
    reads: given.reads ?? 'engine',
    snapshots: given.snapshots,
    copies: given.copies ?? limits.copiesDefault,
  };
  const fault = faultOf(choice);
  return fault === undefined ? { kind: 'valid', choice } : invalid(fault);
}

/** Reads `postgres://…` or `s3://…`; what is wrong is said without secrets. */
export function parseEngine(text: string): EngineAddress | { readonly fault: string } {
  const reading = parseEngineAddress(text);
  return reading.kind === 'valid' ? reading.place : { fault: reading.reason };
}

/** Reads `host:port`, `[::1]:3001` or a bare port. */
export function parseLinkAddress(
  text: string,
): { readonly host: string | undefined; readonly port: number } | undefined {
  const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1]?.replace(/^\[|\]$/g, ''), port };
}

/** True for an address that stands for all of a machine, where nobody can be reached. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function faultOf(choice: ClusterChoice): string | undefined {
  const { leaseMillis, listen, advertise } = choice;
  const { leaseMillisMin, leaseMillisMax } = limits;
  if (leaseMillis < leaseMillisMin || leaseMillis > leaseMillisMax) {
    return (
      `--cluster-lease-millis: ${leaseMillis} ms is not from ${leaseMillisMin} ms to ` +
      `${leaseMillisMax} ms`
    );
  }
  if (choice.copies < 1 || choice.copies > limits.copiesMax) {
    return `--cluster-copies: ${choice.copies} is not from 1 to ${limits.copiesMax}`;
  }
  const faultOfKeys = keysFault(choice);
  if (faultOfKeys !== undefined) return faultOfKeys;
  if (!isWildcard(listen.host) || advertise !== undefined) return undefined;
  return (
    `--cluster-listen ${listen.host} says not where the other hosts reach this one: add ` +
    '--advertise and its own address, such as --advertise 10.0.0.4:3001'
  );
}

function keysFault({ engine, storeKeys, storeKeysFile }: ClusterChoice): string | undefined {
  if (engine.kind !== 's3') {
    if (storeKeysFile === undefined) return undefined;
    return '--cluster-keys-file is for a store at s3://, and the engine is PostgreSQL';
  }
  if (storeKeys !== undefined || storeKeysFile !== undefined) return undefined;
  return (
    'the store of the cluster needs keys: set REDUCERDB_S3_ACCESS_KEY_ID and ' +
    'REDUCERDB_S3_SECRET_ACCESS_KEY, or name a file with --cluster-keys-file'
  );
}

function machineName(): string {
  const [name = ''] = os.hostname().split('.');
  return name;
}

function invalid(fault: string): Reading {
  return { kind: 'invalid', fault };
}

const idleText =
  'settings of [cluster] count only for a host of a cluster: name its engine with ' +
  '--cluster postgres://USER@HOST/DATABASE or s3://BUCKET/PREFIX, or leave them out';

const inMemoryText =
  '--cluster and --in-memory exclude each other: a host keeps a log of each database in its data ' +
  'folder';
