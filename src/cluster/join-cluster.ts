import type { KeyFiles } from '../auth/keys.ts';
import type { PostgresPlace } from '../engines/postgres/postgres-place.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { Directory, HostRow } from '../shared-log/directory.ts';
import { judgeHistory } from '../shared-log/engine-history.ts';
import type { BootId, HostId } from '../shared-log/host-ids.ts';
import { type ClusterId, clusterId } from '../shared-log/log-name.ts';
import { type EngineCapabilities, EngineError, type SharedLog } from '../shared-log/shared-log.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { ClusterError } from './cluster-error.ts';
import type { ClusterSecret } from './cluster-secret.ts';
import { EngineThread } from './engine-thread.ts';
import { drawBootId, drawHostId, random128, readHostRecord, writeHostRecord } from './host-file.ts';
import { SealedBoxes } from './sealed-boxes.ts';
import { shareKeys } from './shared-keys.ts';

/** An engine as a host reaches it: over its thread, or in memory. */
export interface ReachedEngine {
  readonly engine: SharedLog & Directory;
  /** What it calls its past now. */
  readonly history: () => string | undefined;
  /** How far this host's clock is ahead of the engine's. */
  readonly skewMillis?: (() => Promise<number>) | undefined;
  close(): Promise<void>;
}

export interface JoinOptions {
  readonly dataDirectory: string;
  /** True if the folder holds databases, of whatever kind. */
  readonly hasDatabases: boolean;
  readonly keyFiles: KeyFiles;
  readonly secret: ClusterSecret;
  readonly leaseMillis: number;
  /** True if the operator accepts an engine whose loss loses what was acknowledged. */
  readonly allowsSingle: boolean;
  /** Connects; `onHistory` is called when the engine goes on in a newer past. */
  readonly reach: (
    history: string | undefined,
    onHistory: (history: string) => void,
  ) => Promise<ReachedEngine>;
  readonly report: Report;
}

/** A host that belongs to a cluster, and is not seen by the others yet. */
export interface JoinedHost {
  readonly cluster: ClusterId;
  readonly host: HostId;
  readonly boot: BootId;
  readonly engine: ReachedEngine['engine'];
  readonly history: () => string;
  readonly skewMillis?: ReachedEngine['skewMillis'];
  readonly capabilities: EngineCapabilities;
  close(): Promise<void>;
}

/**
 * Makes the service on a data folder a host of the cluster that an engine has, or of a new one if
 * it has none. Rejects with `ClusterError` if it must not be.
 */
export async function joinCluster(options: JoinOptions): Promise<JoinedHost> {
  const { dataDirectory, report } = options;
  const record = await readHostRecord(dataDirectory);
  if (record === undefined && options.hasDatabases)
    throw new ClusterError(singleText(dataDirectory));
  const host = record?.host ?? drawHostId();
  let seen = record?.history;
  let known: ClusterId | undefined = record?.cluster;
  let writing: Promise<void> = Promise.resolve();
  const remember = (history: string): void => {
    if (seen !== undefined && judgeHistory(seen, history).kind !== 'newer') return;
    if (seen !== undefined) {
      report({
        level: 'warn',
        message: `the engine goes on in a newer past: ${seen} → ${history}`,
      });
    }
    seen = history;
    if (known === undefined) return;
    const now = { host, cluster: known, history };
    const write = () => writeHostRecord(dataDirectory, now);
    writing = writing.then(write, write);
  };
  const reached = await options.reach(record?.history, remember);
  try {
    const capabilities = await capabilitiesOf(reached, options);
    remember(capabilities.history);
    const cluster = await clusterOf(reached, known, dataDirectory);
    known = cluster;
    const boxes = new SealedBoxes(reached.engine, options.secret);
    await agree(boxes, options.leaseMillis);
    await shareKeys(options.keyFiles, boxes);
    await writeHostRecord(dataDirectory, { host, cluster, history: seen });
    return {
      ...{ cluster, host, boot: drawBootId(), engine: reached.engine, capabilities },
      skewMillis: reached.skewMillis,
      history: () => reached.history() ?? capabilities.history,
      close: async () => {
        await reached.close();
        await writing;
      },
    };
  } catch (error) {
    await reached.close();
    throw error instanceof EngineError ? new ClusterError(error.message, { cause: error }) : error;
  }
}

/** What the engine is; refuses one that keeps a single copy. */
async function capabilitiesOf(
  { engine }: ReachedEngine,
  { allowsSingle, report }: JoinOptions,
): Promise<EngineCapabilities> {
  const capabilities = await engine.capabilities();
  if (capabilities.copies !== 1) return capabilities;
  if (!allowsSingle) throw new ClusterError(singleCopyText);
  const message =
    'The engine of the cluster keeps one copy: when its disk is lost, so is what was ';
  report({ level: 'warn', message: `${message}acknowledged and no host has written yet` });
  return capabilities;
}

export const singleCopyText =
  'PostgreSQL acknowledges a commit when one server has it (`synchronous_standby_names` is ' +
  'empty), so the loss of that server would lose acknowledged commits. Set ' +
  '`synchronous_standby_names` to a standby; or, if the storage itself keeps copies, add ' +
  '?replication=external to the address; or accept the risk with --cluster-allow-single.';

function singleText(folder: string): string {
  return (
    `${folder} holds the databases of a single machine, which are not in the cluster. Start with ` +
    'an empty data folder (--data-dir). To bring the databases along, start this folder alone, ' +
    'and save their rows (reducerdb export); then publish their modules to the cluster, and load ' +
    'the rows there (reducerdb import).'
  );
}

/** The id of the cluster: drawn by the host that is first. */
async function clusterOf(
  { engine }: ReachedEngine,
  known: ClusterId | undefined,
  folder: string,
): Promise<ClusterId> {
  // A host that knows its cluster must not found it again in an empty engine.
  const drawn = Buffer.from(bigintToHex(random128(), 32));
  const box = await engine.secretBox(clusterBox, known === undefined ? drawn : undefined);
  const found = bigintFromHex(Buffer.from(box ?? []).toString('latin1'), 32);
  const cluster = found === undefined ? undefined : clusterId(found);
  if (cluster !== undefined && (known === undefined || known === cluster)) return cluster;
  const theirs = cluster === undefined ? 'no cluster' : `the cluster ${bigintToHex(cluster, 32)}`;
  throw new ClusterError(
    `${folder} belongs to the cluster ${bigintToHex(known ?? 0n, 32)}, ` +
      `and the engine has ${theirs}. ` +
      "Check the address after --cluster, or name this cluster's own data folder with --data-dir.",
  );
}

/** Hosts with different leases would each judge the others by another measure. */
async function agree(boxes: SealedBoxes, leaseMillis: number): Promise<void> {
  const own = JSON.stringify({ leaseMillis });
  const found = await boxes.get(settingsBox, Buffer.from(own));
  const { leaseMillis: theirs } = JSON.parse(Buffer.from(found).toString('utf8')) as {
    readonly leaseMillis: number;
  };
  if (theirs === leaseMillis) return;
  throw new ClusterError(
    `--cluster-lease-millis is ${leaseMillis} ms here, and the cluster began with ${theirs} ms. ` +
      'It must be the same on all hosts.',
  );
}

const clusterBox = 'cluster';
const settingsBox = 'settings';

/** Refuses lengths and characters that a name or an address of a host cannot have. */
export function checkHostFacts({ name, address }: Pick<HostRow, 'name' | 'address'>): void {
  const isName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name);
  if (!isName || name.length > limits.hostNameBytesMax) {
    throw new ClusterError(
      `--host-name: \`${name}\` is not a name for a host. Use letters, digits, \`.\`, \`-\` and ` +
        `\`_\`, at most ${limits.hostNameBytesMax}.`,
    );
  }
  if (address.length > limits.hostAddressBytesMax) {
    throw new ClusterError('--advertise: the address is too long.');
  }
}

/** Reaches PostgreSQL over a thread; see `engine-thread.ts`. */
export function postgresReach(
  place: PostgresPlace,
  gatherMillis: number,
  report: Report,
): JoinOptions['reach'] {
  return async (history, onHistory) => {
    const thread = await EngineThread.start({ place, history, gatherMillis, onHistory, report });
    return {
      engine: thread.engine,
      history: () => thread.history,
      skewMillis: () => thread.engine.skewMillis(Date.now),
      close: () => thread.close(),
    };
  };
}
