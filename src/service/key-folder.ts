import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import {
  fingerprintOf,
  type HostKeys,
  KeyError,
  type KeyFiles,
  loadKeys,
  rotateKeys,
} from '../auth/keys.ts';
import { limits } from '../limits.ts';
import { readFileIfPresent, removeFileDurably, writeFileAtomically } from '../node/atomic-file.ts';
import { ConfigurationError } from './configuration.ts';
import { takeLock } from './data-folder.ts';

/** A key of a host, as its operator is shown it. */
export interface KeyEntry {
  /** `undefined`: the current one, which signs. The others only verify. */
  readonly number: number | undefined;
  readonly fingerprint: string;
  /** Milliseconds since the Unix epoch: when it was made; of an old one, when it was replaced. */
  readonly sinceMillis: number;
  readonly file: string;
}

/** The current key and those that it replaced. All of these throw `ConfigurationError`. */
export async function listKeys(files: KeyFiles): Promise<KeyEntry[]> {
  const keys = await loadExisting(files);
  return [
    entry(undefined, files.publicKeyFile, keys.publicKey),
    ...keys.oldKeys.map(({ number, file, key }) => entry(number, file, key)),
  ];
}

/** Makes a new pair for the next start, and keeps the old public key to verify with. */
export async function rotateKeysIn(files: KeyFiles): Promise<KeyEntry[]> {
  await loadExisting(files);
  await underLock(files, () => mendable(() => rotateKeys(files, writeFileAtomically)));
  return listKeys(files);
}

/** Ends old keys: what they signed is refused from the next start on. Gives what is left. */
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

/** Of the keys that were retired on purpose, the last one last. */
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

/** `id_ecdsa.retired` beside `id_ecdsa.pub`. */
function retiredFile({ publicKeyFile }: KeyFiles): string {
  return `${publicKeyFile.replace(/\.pub$/, '')}.retired`;
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

/** What is wrong with keys is for the operator to mend. */
async function mendable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    throw new ConfigurationError(error.message, { cause: error });
  }
}

/** Two rotations at once would leave two halves. A service only reads the files when it starts. */
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
