import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fingerprintOf, type KeyFiles, loadKeys, oldKeyFile, retiredFile } from '../auth/keys.ts';
import { fingerprintOfKeyText, readSecretKeys, secretKeyFile } from '../auth/secret-keys.ts';
import { limits } from '../limits.ts';
import { readFileIfPresent, removeFileDurably, writeFileAtomically } from '../node/atomic-file.ts';
import { fingerprintOfPem, type KeyRevision } from './key-revision.ts';

/**
 * Writes what the cluster has of keys to the files of a host, which are like those of a single
 * machine. What is there already stays as it is, under its own number. A start accepts the files
 * after each step: what signed before is among the old keys first.
 */
export async function writeKeyFiles(files: KeyFiles, revision: KeyRevision): Promise<void> {
  const folder = path.dirname(files.privateKeyFile);
  for (const file of [files.privateKeyFile, files.publicKeyFile]) {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  }
  await writeRetired(files, revision.retired);
  const { signing, next, old } = revision;
  const verifying = next === null ? old : [...old, next];
  await addOldKeys(
    files,
    verifying.map(({ publicPem }) => publicPem),
  );
  await writeIfOther(files.privateKeyFile, signing.privatePem, 0o600);
  await writeIfOther(files.publicKeyFile, signing.publicPem, 0o644);
  await removeOldKeys(files, [...revision.retired, fingerprintOfPem(signing.publicPem)]);
  await writeSecretKeys(folder, revision);
}

async function writeRetired(files: KeyFiles, retired: readonly string[]): Promise<void> {
  const file = retiredFile(files);
  const text = (await readFileIfPresent(file))?.toString('utf8') ?? '';
  const known = text.split('\n').filter(Boolean);
  const added = retired.filter((one) => !known.includes(one));
  if (added.length === 0) return;
  const kept = [...known, ...added].slice(-limits.retiredKeysMax);
  await writeFileAtomically(file, `${kept.join('\n')}\n`, 0o644);
}

async function addOldKeys(files: KeyFiles, publicPems: readonly string[]): Promise<void> {
  if (!existsSync(files.privateKeyFile)) {
    let number = 1;
    for (const pem of publicPems) await writeIfOther(oldKeyFile(files, number++), pem, 0o644);
    return;
  }
  const { oldKeys } = await loadKeys(files, writeFileAtomically);
  const known = oldKeys.map(({ key }) => fingerprintOf(key));
  let number = Math.max(0, ...oldKeys.map((one) => one.number));
  for (const pem of publicPems) {
    if (known.includes(fingerprintOfPem(pem))) continue;
    number += 1;
    await writeFileAtomically(oldKeyFile(files, number), pem, 0o644);
  }
}

async function removeOldKeys(files: KeyFiles, fingerprints: readonly string[]): Promise<void> {
  const { oldKeys } = await loadKeys(files, writeFileAtomically);
  for (const { file, key } of oldKeys) {
    if (fingerprints.includes(fingerprintOf(key))) await removeFileDurably(file);
  }
}

async function writeSecretKeys(folder: string, revision: KeyRevision): Promise<void> {
  const { keys } = readSecretKeys(folder);
  const known = keys.map(({ fingerprint }) => fingerprint);
  let number = keys.at(-1)?.number ?? 0;
  for (const { text } of revision.secrets) {
    if (known.includes(fingerprintOfKeyText(text))) continue;
    number += 1;
    await writeFileAtomically(secretKeyFile(folder, number), text, 0o600);
  }
  for (const { file, fingerprint } of keys) {
    if (revision.retiredSecrets.includes(fingerprint)) await removeFileDurably(file);
  }
}

async function writeIfOther(file: string, text: string, mode: number): Promise<void> {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  await writeFileAtomically(file, text, mode);
}
