import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import {
  fingerprintOf,
  type HostKeys,
  KeyError,
  type KeyFiles,
  loadKeys,
  retiredFile,
  rotateKeys,
} from '../auth/keys.ts';
import { addSecretKey, readSecretKeys, type SecretKey } from '../auth/secret-keys.ts';
import { limits } from '../limits.ts';
import { readFileIfPresent, removeFileDurably, writeFileAtomically } from '../node/atomic-file.ts';
import { ConfigurationError } from './configuration.ts';
import { takeLock } from './data-folder.ts';

/** A key of a host, as shown to its operator. */
export interface KeyEntry {
  /** `undefined`: the current key, which signs. The others only verify. */
  readonly number: number | undefined;
  readonly fingerprint: string;
  /** Milliseconds since the Unix epoch when it was created, or, for an old key, replaced. */
  readonly sinceMillis: number;
  readonly file: string;
}

/** Lists the current key and its predecessors. All functions here throw `ConfigurationError`. */
export async function listKeys(files: KeyFiles): Promise<KeyEntry[]> {
  const keys = await loadExisting(files);
  return [
    entry(undefined, files.publicKeyFile, keys.publicKey),
    ...keys.oldKeys.map(({ number, file, key }) => entry(number, file, key)),
  ];
}

/** Creates a new pair for the next start, and keeps the old public key for verification. */
export async function rotateKeysIn(files: KeyFiles): Promise<KeyEntry[]> {
  await loadExisting(files);
  await underLock(files, () => mendable(() => rotateKeys(files, writeFileAtomically)));
  return listKeys(files);
}

/** Retires old keys: the next start rejects tokens signed with them. Returns the rest. */
export async function retireKeys(
  files: KeyFiles,
  isRetired: (number: number) => boolean,
): Promise<KeyEntry[]> {
  await underLock(files, async () => {
    const { oldKeys } = await loadExisting(files);
    const retired = oldKeys.filter(({ number }) => isRetired(number));
    await rememberRetired(
      files,
      retired.map(({ key }) => fingerprintOf(key)),
    );
    for (const { file } of retired) await removeFileDurably(file);
  });
  return listKeys(files);
}

/** Lists the keys that encrypt secrets, the current one first. */
export function listSecretKeys(files: KeyFiles): KeyEntry[] {
  const { keys } = readSecretKeys(path.dirname(files.privateKeyFile));
  const [current, ...old] = keys.toReversed();
  if (current === undefined) return [];
  return [
    secretEntry(current, undefined),
    ...old.toReversed().map((key) => secretEntry(key, key.number)),
  ];
}

/**
 * Creates a key for secrets, with which a service encrypts all of them again at its next start; the
 * keys before it still decrypt.
 */
export async function rotateSecretKeys(files: KeyFiles): Promise<KeyEntry[]> {
  const folder = path.dirname(files.privateKeyFile);
  if (listSecretKeys(files).length === 0) {
    throw new ConfigurationError(
      `There is no key for secrets in ${folder}; the first secret makes it.`,
    );
  }
  await underLock(files, () => mendable(() => addSecretKey(folder, writeFileAtomically)));
  return listSecretKeys(files);
}

/** Removes an old key for secrets: what is encrypted with it alone is lost. */
export async function retireSecretKey(files: KeyFiles, number: number): Promise<KeyEntry[]> {
  await underLock(files, async () => {
    const old = listSecretKeys(files).find((key) => key.number === number);
    if (old !== undefined) await removeFileDurably(old.file);
  });
  return listSecretKeys(files);
}

function secretEntry({ fingerprint, file }: SecretKey, number: number | undefined): KeyEntry {
  return { number, fingerprint, sinceMillis: statSync(file).mtimeMs, file };
}

/** Returns the fingerprints of keys that were deliberately retired, the latest last. */
export async function retiredFingerprints(files: KeyFiles): Promise<readonly string[]> {
  const text = await readFileIfPresent(retiredFile(files));
  return text === undefined ? [] : text.toString('utf8').split('\n').filter(Boolean);
}

async function rememberRetired(files: KeyFiles, fingerprints: readonly string[]): Promise<void> {
  if (fingerprints.length === 0) return;
  const all = [...(await retiredFingerprints(files)), ...fingerprints];
  const kept = all.slice(-limits.retiredKeysMax);
  await writeFileAtomically(retiredFile(files), `${kept.join('\n')}\n`, 0o644);
}

async function loadExisting(files: KeyFiles): Promise<HostKeys> {
  if (!existsSync(files.privateKeyFile) && !existsSync(files.publicKeyFile)) {
    const directory = path.dirname(files.privateKeyFile);
    throw new ConfigurationError(
      `There are no keys in ${directory}; the first start of a service makes them.`,
    );
  }
  return mendable(() => loadKeys(files, writeFileAtomically));
}

/** Reports key faults as configuration errors, because the operator can fix them. */
async function mendable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    throw new ConfigurationError(error.message, { cause: error });
  }
}

/** Serializes rotations, which would otherwise mix files. A service only reads them on start. */
async function underLock(files: KeyFiles, work: () => Promise<unknown>): Promise<void> {
  const lock = takeLock(path.dirname(files.privateKeyFile));
  try {
    await work();
  } finally {
    lock.release();
  }
}

function entry(number: number | undefined, file: string, key: HostKeys['publicKey']): KeyEntry {
  return { number, fingerprint: fingerprintOf(key), sinceMillis: statSync(file).mtimeMs, file };
}
