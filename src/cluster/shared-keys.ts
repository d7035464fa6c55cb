import { createPublicKey } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fingerprintOf, type KeyFiles, loadKeys } from '../auth/keys.ts';
import { addSecretKey, readSecretKeys } from '../auth/secret-keys.ts';
import { writeFileAtomically } from '../node/atomic-file.ts';
import { ClusterError } from './cluster-error.ts';
import type { SealedBoxes } from './sealed-boxes.ts';

const signingBox = 'signing-keys';
const secretsBox = 'secrets-key';

/**
 * Gives this host the keys of its cluster, as files like those of a single machine: the pair that
 * signs tokens, and the key that encrypts secrets of databases. The first host brings its own, or
 * creates them. Rejects with `ClusterError` if this host has others.
 */
export async function shareKeys(files: KeyFiles, boxes: SealedBoxes): Promise<void> {
  await shareSigningKeys(files, boxes);
  await shareSecretsKey(path.dirname(files.privateKeyFile), boxes);
}

interface Pair {
  readonly privatePem: string;
  readonly publicPem: string;
}

async function shareSigningKeys(files: KeyFiles, boxes: SealedBoxes): Promise<void> {
  const hadKeys = existsSync(files.privateKeyFile) || existsSync(files.publicKeyFile);
  let found = await boxes.get(signingBox);
  if (found === undefined) {
    const { publicPem } = await loadKeys(files, writeFileAtomically);
    const own: Pair = { privatePem: readFileSync(files.privateKeyFile, 'utf8'), publicPem };
    found = await boxes.get(signingBox, Buffer.from(JSON.stringify(own)));
  }
  const pair = JSON.parse(Buffer.from(found).toString('utf8')) as Pair;
  if (!hadKeys) return writePair(files, pair);
  const { publicKey } = await loadKeys(files, writeFileAtomically);
  const own = fingerprintOf(publicKey);
  const theirs = fingerprintOf(createPublicKey(pair.publicPem));
  if (own === theirs) return;
  throw new ClusterError(
    `This host signs tokens with the key ${own} (${files.publicKeyFile}), and the cluster with ` +
      `${theirs}: each would reject what the other issued. Move this host's key files away; it ` +
      "then fetches the cluster's.",
  );
}

async function writePair(files: KeyFiles, { privatePem, publicPem }: Pair): Promise<void> {
  for (const file of [files.privateKeyFile, files.publicKeyFile]) {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  }
  await writeFileAtomically(files.privateKeyFile, privatePem, 0o600);
  await writeFileAtomically(files.publicKeyFile, publicPem, 0o644);
}

async function shareSecretsKey(folder: string, boxes: SealedBoxes): Promise<void> {
  const [had] = readSecretKeys(folder).keys;
  let found = await boxes.get(secretsBox);
  if (found === undefined) {
    if (had === undefined) await addSecretKey(folder, writeFileAtomically);
    const [first] = readSecretKeys(folder).keys;
    if (first === undefined) throw new ClusterError(`${folder} holds no key for secrets.`);
    found = await boxes.get(secretsBox, readFileSync(first.file));
  }
  const text = Buffer.from(found).toString('utf8');
  const isTheirs = had !== undefined && readFileSync(had.file, 'utf8').trim() === text.trim();
  if (isTheirs) return;
  if (had === undefined) {
    await writeFileAtomically(path.join(folder, 'secrets.1.key'), text, 0o600);
    return;
  }
  throw new ClusterError(
    `This host encrypts secrets with another key (${had.file}) than the cluster, so it could not ` +
      "read them. Move that file away; the host then fetches the cluster's.",
  );
}
