import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { readFileIfPresent, writeFileAtomically } from '../node/atomic-file.ts';
import { type BootId, bootId, type HostId, hostId } from '../shared-log/host-ids.ts';
import { type ClusterId, clusterId } from '../shared-log/log-name.ts';
import { bigintToHex } from '../values/hex.ts';
import { ClusterError } from './cluster-error.ts';
import { hostFileName } from './host-folder.ts';

/** What a host of a cluster keeps in its data folder: who it is, and what it has seen. */
export interface HostRecord {
  readonly host: HostId;
  readonly cluster: ClusterId;
  /** The newest past of the engine that it has seen. */
  readonly history: string | undefined;
}

/** Reads the record in a data folder. `undefined`: the folder was never part of a cluster. */
export async function readHostRecord(folder: string): Promise<HostRecord | undefined> {
  const file = path.join(folder, hostFileName);
  const text = (await readFileIfPresent(file))?.toString('utf8');
  if (text === undefined) return undefined;
  const record = recordOf(text);
  if (record !== undefined) return record;
  throw new ClusterError(
    `${file} does not say who this host is. Put the file back from a copy, or start with an ` +
      'empty data folder: the host then joins as a new one and fetches its databases.',
  );
}

export async function writeHostRecord(folder: string, record: HostRecord): Promise<void> {
  const { host, cluster, history } = record;
  const shown = { host: bigintToHex(host, 32), cluster: bigintToHex(cluster, 32), history };
  await writeFileAtomically(path.join(folder, hostFileName), `${JSON.stringify(shown)}\n`, 0o600);
}

export function drawHostId(): HostId {
  return hostId(random128());
}

export function drawBootId(): BootId {
  return bootId(random128());
}

/** 128 random bits, as a number. */
export function random128(): bigint {
  return BigInt(`0x${randomBytes(16).toString('hex')}`);
}

function recordOf(text: string): HostRecord | undefined {
  try {
    const { host, cluster, history } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const areIds = [host, cluster].every((id) => /^[0-9a-f]{32}$/.test(String(id)));
    if (!areIds || (history !== undefined && typeof history !== 'string')) return undefined;
    const [id, of] = [BigInt(`0x${host}`), BigInt(`0x${cluster}`)];
    return { host: hostId(id), cluster: clusterId(of), history };
  } catch {
    return undefined;
  }
}
