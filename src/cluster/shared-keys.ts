import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fingerprintOf, generatePair, type KeyFiles, loadKeys } from '../auth/keys.ts';
import { fingerprintOfKeyText, newSecretKeyText, readSecretKeys } from '../auth/secret-keys.ts';
import { writeFileAtomically } from '../node/atomic-file.ts';
import type { Directory } from '../shared-log/directory.ts';
import { object, parseAs, string } from '../values/json-shape.ts';
import { ClusterError } from './cluster-error.ts';
import { boxOf, type KeyChain } from './key-chain.ts';
import { writeKeyFiles } from './key-files.ts';
import { fingerprintOfPem, type KeyRevision, leaseFields } from './key-revision.ts';
import { type SealedBoxes, shutText } from './sealed-boxes.ts';

const signingBox = 'signing-keys';
const secretsBox = 'secrets-key';
const settingsBox = 'settings';
const snapshotsBox = 'snapshots';

/** What must be the same on all hosts. */
export interface SharedSettings {
  readonly leaseMillis: number;
  /** Whether leaders answer confirmed reads within the lease. */
  readonly isReadByLease: boolean;
  /** Where hosts share snapshots. */
  readonly snapshots: string;
}

export interface KeySharing {
  readonly files: KeyFiles;
  readonly boxes: SealedBoxes;
  readonly chain: KeyChain;
  /** What this host has; absent: it is no host, and takes the keys alone. */
  readonly settings?: SharedSettings;
  /** True if the keys are those of databases that this host brings along. */
  readonly isImport?: boolean;
  /** A revision that is there; the newest is not an earlier one. */
  readonly known?: number;
}

/**
 * Gives this host the keys of its cluster, as files like those of a single machine: the pair that
 * signs tokens, the public keys of earlier ones, and the keys for secrets of databases. The first
 * host brings its own, or creates them. Rejects with `ClusterError` if this host has others, or
 * other settings, or another cluster secret.
 */
export async function shareKeys(sharing: KeySharing): Promise<KeyRevision> {
  const { files, chain, settings, isImport = false, known = 0 } = sharing;
  const found = await chain.newest(Math.max(0, known - 1));
  if (found.kind === 'shut') throw new ClusterError(shutText);
  const revision = found.kind === 'found' ? found.revision : await firstRevision(sharing);
  if (settings !== undefined) requireSame(settings, revision);
  const advice = isImport ? importAdvice : moveAdvice;
  await requireKnownPair(files, revision, advice);
  requireKnownSecretsKey(path.dirname(files.privateKeyFile), revision, advice);
  await writeKeyFiles(files, revision);
  if (isImport && found.kind === 'none') await shareOldKeys(sharing, revision);
  return revision;
}

const moveAdvice = "Move this host's key files away; it then fetches the cluster's";

const importAdvice =
  'Tokens and secrets of its databases are of its own keys. Import the folder into a new ' +
  'cluster, in an empty database of the engine: the first host brings its keys. Or bring the ' +
  'rows along: start the folder alone, reducerdb export, and reducerdb import at the cluster';

/** The keys of a cluster as its engine has them, sealed, by the names of their boxes. */
export async function sealedKeys(
  directory: Pick<Directory, 'secretBox'>,
  revision: number,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const boxes = new Map<string, Uint8Array>();
  for (const name of revision === 0 ? [signingBox, secretsBox] : [boxOf(revision)]) {
    const sealed = await directory.secretBox(name);
    if (sealed !== undefined) boxes.set(name, sealed);
  }
  return boxes;
}

const pairShape = object({ privatePem: string, publicPem: string });
const settingsShape = object(leaseFields);

/** What the cluster began with: what its first host put, each in a box of its own. */
async function firstRevision({ files, boxes, settings }: KeySharing): Promise<KeyRevision> {
  const signing = await putFirst(boxes, signingBox, () => ownPair(files));
  const secrets = await putFirst(boxes, secretsBox, async () => {
    const own = readSecretKeys(path.dirname(files.privateKeyFile)).keys.at(-1);
    return own === undefined ? newSecretKeyText() : readFileSync(own.file, 'utf8');
  });
  const lease =
    settings === undefined
      ? { leaseMillis: 0 }
      : parseAs(await putFirst(boxes, settingsBox, () => leaseText(settings)), settingsShape);
  const snapshots = settings && (await putFirst(boxes, snapshotsBox, () => settings.snapshots));
  return {
    ...{ revision: 0, signing: { ...parseAs(signing, pairShape), sinceMillis: 0 } },
    ...{ old: [], next: null, retired: [] },
    secrets: [{ number: 1, text: secrets, sinceMillis: 0 }],
    ...{ waits: null, retiredSecrets: [], ...lease, snapshots: snapshots ?? '', secret: null },
    pastSecrets: [],
  };
}

function leaseText({ leaseMillis, isReadByLease }: SharedSettings): string {
  return JSON.stringify(isReadByLease ? { readLeaseMillis: leaseMillis } : { leaseMillis });
}

/** What is in a box; the first host puts it there. */
async function putFirst(
  boxes: SealedBoxes,
  name: string,
  make: () => string | Promise<string>,
): Promise<string> {
  const found = (await boxes.get(name)) ?? (await boxes.get(name, Buffer.from(await make())));
  return Buffer.from(found).toString('utf8');
}

async function ownPair(files: KeyFiles): Promise<string> {
  if (!hasKeys(files)) {
    const { privateKey: privatePem, publicKey: publicPem } = generatePair();
    return JSON.stringify({ privatePem, publicPem });
  }
  const { publicPem } = await loadKeys(files, writeFileAtomically);
  return JSON.stringify({ privatePem: readFileSync(files.privateKeyFile, 'utf8'), publicPem });
}

function hasKeys({ privateKeyFile, publicKeyFile }: KeyFiles): boolean {
  return existsSync(privateKeyFile) || existsSync(publicKeyFile);
}

/** Hosts with different settings would each judge the others by another measure. */
function requireSame(own: SharedSettings, revision: KeyRevision): void {
  const { readLeaseMillis, snapshots } = revision;
  const isReadByLease = readLeaseMillis !== undefined;
  const leaseMillis = readLeaseMillis ?? revision.leaseMillis;
  if (leaseMillis === undefined) {
    throw new ClusterError('The settings of the cluster are of a later version. Start that here.');
  }
  if (own.isReadByLease !== isReadByLease) {
    throw new ClusterError(
      `--cluster-reads is ${readsText(own.isReadByLease)} here, and the cluster began with ` +
        `${readsText(isReadByLease)}. It must be the same on all hosts.`,
    );
  }
  if (own.leaseMillis !== leaseMillis) {
    throw new ClusterError(
      `--cluster-lease-millis is ${own.leaseMillis} ms here, and the cluster began with ` +
        `${leaseMillis} ms. It must be the same on all hosts.`,
    );
  }
  if (own.snapshots === snapshots) return;
  throw new ClusterError(
    `--snapshots is ${own.snapshots} here, and the cluster began with ${snapshots}. It must be ` +
      'the same on all hosts.',
  );
}

function readsText(isByLease: boolean): string {
  return isByLease ? 'lease' : 'engine';
}

/** A host that was away has a key that has signed since the cluster began. */
async function requireKnownPair(
  files: KeyFiles,
  { signing, old, next, retired }: KeyRevision,
  advice: string,
): Promise<void> {
  if (!hasKeys(files)) return;
  const { publicKey } = await loadKeys(files, writeFileAtomically);
  const own = fingerprintOf(publicKey);
  const theirs = fingerprintOfPem(signing.publicPem);
  const others = [...old, ...(next === null ? [] : [next])];
  const known = [theirs, ...retired, ...others.map(({ publicPem }) => fingerprintOfPem(publicPem))];
  if (known.includes(own)) return;
  throw new ClusterError(
    `This host signs tokens with the key ${own} (${files.publicKeyFile}), and the cluster with ` +
      `${theirs}: each would reject what the other issued. ${advice}.`,
  );
}

function requireKnownSecretsKey(folder: string, revision: KeyRevision, advice: string): void {
  // The last one encrypts; a host has no others of its own, unless it imports its folder.
  const own = readSecretKeys(folder).keys.at(-1);
  const theirs = revision.secrets.map(({ text }) => fingerprintOfKeyText(text));
  const known = [...theirs, ...revision.retiredSecrets];
  if (own === undefined || known.includes(own.fingerprint)) return;
  throw new ClusterError(
    `This host encrypts secrets with another key (${own.file}) than the cluster, so it could not ` +
      `read them. ${advice}.`,
  );
}

/** What was signed before the databases came here is still verified, by every host. */
async function shareOldKeys({ files, chain }: KeySharing, revision: KeyRevision): Promise<void> {
  const { oldKeys } = await loadKeys(files, writeFileAtomically);
  if (oldKeys.length === 0) return;
  const old = oldKeys.map(({ number, file }) => {
    return { number, publicPem: readFileSync(file, 'utf8'), sinceMillis: 0 };
  });
  await chain.put({ ...revision, revision: 1, old });
}
