import type { KeyFiles } from '../auth/keys.ts';
import type { EnginePlace } from '../engines/engine-place.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { Directory, HostRow } from '../shared-log/directory.ts';
import { judgeHistory } from '../shared-log/engine-history.ts';
import type { BootId, HostId } from '../shared-log/host-ids.ts';
import { type ClusterId, clusterId } from '../shared-log/log-name.ts';
import { type EngineCapabilities, EngineError, type SharedLog } from '../shared-log/shared-log.ts';
import type { SnapshotStore } from '../shared-log/snapshot-store.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { ClusterError } from './cluster-error.ts';
import type { ClusterSecret } from './cluster-secret.ts';
import { EngineThread } from './engine-thread.ts';
import { drawBootId, drawHostId, random128, readHostRecord, writeHostRecord } from './host-file.ts';
import type { ImportGoal } from './import-folder.ts';
import { KeyChain } from './key-chain.ts';
import { KeyKeeper } from './key-keeper.ts';
import { SealedBoxes } from './sealed-boxes.ts';
import { shareKeys } from './shared-keys.ts';

/** An engine as a host reaches it: over its thread, or in memory. */
export interface ReachedEngine {
  readonly engine: SharedLog & Directory;
  /** Where it keeps snapshots; absent: nowhere, and shared logs are kept whole. */
  readonly snapshots?: SnapshotStore;
  /** What it calls its past now. */
  readonly history: () => string | undefined;
  /** How far this host's clock is ahead of the engine's. */
  readonly skewMillis?: (() => Promise<number>) | undefined;
  /** Why it takes no commits, as far as it says. */
  readonly trouble?: (() => Promise<string | undefined>) | undefined;
  close(): Promise<void>;
}

export interface JoinOptions {
  readonly dataDirectory: string;
  /** True if the folder holds databases, of whatever kind. */
  readonly hasDatabases: boolean;
  readonly keyFiles: KeyFiles;
  readonly secret: ClusterSecret;
  readonly leaseMillis: number;
  /** Whether leaders answer confirmed reads within the lease. */
  readonly isReadByLease?: boolean;
  /** True if the operator accepts an engine whose loss loses what was acknowledged. */
  readonly allowsSingle: boolean;
  /** Connects; `onHistory` is called when the engine goes on in a newer past. */
  readonly reach: (
    history: string | undefined,
    onHistory: (history: string) => void,
  ) => Promise<ReachedEngine>;
  /**
   * Stores the databases of a single machine's folder, if the operator wants that; absent: such a
   * folder is refused.
   */
  readonly importInto?: ((goal: Omit<ImportGoal, 'name'>) => Promise<void>) | undefined;
  /** Where hosts share snapshots; absent: in the engine. */
  readonly snapshots?: SnapshotStore | undefined;
  readonly report: Report;
}

/** A host that belongs to a cluster, and is not seen by the others yet. */
export interface JoinedHost {
  readonly cluster: ClusterId;
  readonly host: HostId;
  readonly boot: BootId;
  readonly engine: ReachedEngine['engine'];
  readonly snapshots?: SnapshotStore | undefined;
  /** What it shares of keys; absent: it shares none, as in a test. */
  readonly keys?: KeyKeeper | undefined;
  readonly history: () => string;
  readonly skewMillis?: ReachedEngine['skewMillis'];
  readonly trouble?: ReachedEngine['trouble'];
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
  const { importInto } = options;
  const isSingle = record === undefined && options.hasDatabases;
  if (isSingle && importInto === undefined) throw new ClusterError(singleText(dataDirectory));
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
    const chain = new KeyChain(reached.engine, options.secret);
    const files = options.keyFiles;
    const settings = {
      ...{ leaseMillis: options.leaseMillis, isReadByLease: options.isReadByLease ?? false },
      snapshots: options.snapshots?.place ?? engineItself,
    };
    const revision = await shareKeys({ files, boxes, chain, settings, isImport: isSingle });
    if (isSingle && importInto !== undefined) {
      const { entryBytesMax, history } = capabilities;
      await importInto({ cluster, host, engine: reached.engine, entryBytesMax, history });
    }
    await writeHostRecord(dataDirectory, { host, cluster, history: seen });
    return {
      ...{ cluster, host, boot: drawBootId(), engine: reached.engine, capabilities },
      ...{ skewMillis: reached.skewMillis, trouble: reached.trouble },
      snapshots: options.snapshots ?? reached.snapshots,
      keys: new KeyKeeper({ files, chain, revision, secret: options.secret, report }),
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
    `${folder} holds the databases of a single machine, which are not in the cluster. Bring them ` +
    'along with --import, or start with an empty data folder (--data-dir).'
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

const engineItself = 'the engine';
const clusterBox = 'cluster';

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

/** Reaches an engine over a thread; see `engine-thread.ts`. */
export function engineReach(
  place: EnginePlace,
  gatherMillis: number,
  report: Report,
): JoinOptions['reach'] {
  return async (history, onHistory) => {
    const thread = await EngineThread.start({ place, history, gatherMillis, onHistory, report });
    return {
      engine: thread.engine,
      // In a bucket they need a prefix of their own: the operator names it.
      ...(place.kind === 'postgres' && { snapshots: thread.engine.parts }),
      history: () => thread.history,
      skewMillis: () => thread.engine.skewMillis(Date.now),
      trouble: () => thread.engine.trouble(),
      close: () => thread.close(),
    };
  };
}
