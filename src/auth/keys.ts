import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../limits.ts';

/**
 * The host's key pair, EC P-256. Stored as two PEM files: the private key in PKCS#8, readable only
 * by the owner, and the public key in SPKI.
 */
export interface HostKeys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Content of the public key file, unchanged; clients keep it as the host's fingerprint. */
  readonly publicPem: string;
  /** Public keys of earlier pairs, which no longer sign but still verify. */
  readonly oldKeys: readonly OldKey[];
}

/** The public key of an earlier pair, in its own file beside the current one. */
export interface OldKey {
  /** Counted from 1, the first pair of the host. */
  readonly number: number;
  readonly file: string;
  readonly key: KeyObject;
}

export interface KeyFiles {
  readonly privateKeyFile: string;
  readonly publicKeyFile: string;
}

/** The keys are unusable; the service does not start. */
export class KeyError extends Error {
  override readonly name = 'KeyError';
}

/** Writes a file so that a crash leaves the old or the new content (see `node/atomic-file.ts`). */
export type WriteFile = (file: string, text: string, mode: number) => Promise<void>;

export function keyFilesIn(directory: string): KeyFiles {
  return {
    privateKeyFile: path.join(directory, 'id_ecdsa'),
    publicKeyFile: path.join(directory, 'id_ecdsa.pub'),
  };
}

/**
 * Reads the key pair and the public keys of earlier ones, or creates a pair if neither file exists.
 * Completes an interrupted rotation. Throws `KeyError`.
 */
export async function loadKeys(files: KeyFiles, writeFile: WriteFile): Promise<HostKeys> {
  if (!existsSync(files.privateKeyFile) && !existsSync(files.publicKeyFile)) {
    await createKeys(files, writeFile);
  }
  const publicPem = readKey(files.publicKeyFile, 'public key for JWT token verification');
  refuseOpenFile(files.privateKeyFile);
  const privatePem = readKey(files.privateKeyFile, 'private key for JWT token signing');
  const pair = parsePair(files, privatePem, publicPem);
  const oldKeys = readOldKeys(files);
  if (isPair(pair)) return { ...pair, oldKeys };
  if (!oldKeys.some(({ key }) => key.equals(pair.publicKey))) throw unrelated(files);
  const current = withPublicKeyOf(pair.privateKey);
  await writeFile(files.publicKeyFile, current.publicPem, 0o644);
  return { ...current, oldKeys };
}

/**
 * Creates a new pair that signs after the next start. The old public key is kept, so tokens signed
 * with the old pair remain valid.
 *
 * `loadKeys` accepts the files after each step: first with one old key too many; then with a new
 * private key and the previous public key, which is also among the old ones and so is distinguished
 * from a mismatched pair.
 */
export async function rotateKeys(files: KeyFiles, writeFile: WriteFile): Promise<HostKeys> {
  const { publicKey, publicPem, oldKeys } = await loadKeys(files, writeFile);
  if (oldKeys.length >= limits.oldKeysMax) {
    throw new KeyError(
      `There are ${oldKeys.length} old keys, and no more are kept: retire some first.`,
    );
  }
  const kept = oldKeys.find(({ key }) => key.equals(publicKey));
  const number = kept?.number ?? Math.max(0, ...oldKeys.map((old) => old.number)) + 1;
  const file = oldKeyFile(files, number);
  await writeFile(file, publicPem, 0o644);
  const pair = generatePair();
  await writeFile(files.privateKeyFile, pair.privateKey, 0o600);
  await writeFile(files.publicKeyFile, pair.publicKey, 0o644);
  return loadKeys(files, writeFile);
}

/** Returns the short name of a public key, which does not depend on where it is stored. */
export function fingerprintOf(key: KeyObject): string {
  const bytes = key.export({ type: 'spki', format: 'der' });
  return `SHA256:${createHash('sha256').update(bytes).digest('base64url')}`;
}

async function createKeys(files: KeyFiles, writeFile: WriteFile): Promise<void> {
  const pair = generatePair();
  for (const file of [files.privateKeyFile, files.publicKeyFile]) {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  }
  await writeFile(files.privateKeyFile, pair.privateKey, 0o600);
  await writeFile(files.publicKeyFile, pair.publicKey, 0o644);
}

/** A new pair, as PEM texts. */
export function generatePair() {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
}

/** Returns `id_ecdsa.retired` for `id_ecdsa.pub`: the fingerprints of keys that were retired. */
export function retiredFile({ publicKeyFile }: KeyFiles): string {
  return `${publicKeyFile.replace(/\.pub$/, '')}.retired`;
}

/** Returns `id_ecdsa.3.pub` for `id_ecdsa.pub`. */
export function oldKeyFile({ publicKeyFile }: KeyFiles, number: number | string): string {
  return `${publicKeyFile.replace(/\.pub$/, '')}.${number}.pub`;
}

function readOldKeys(files: KeyFiles): OldKey[] {
  const [before = '', after = ''] = path.basename(oldKeyFile(files, '*')).split('*');
  const directory = path.dirname(files.publicKeyFile);
  const numbers = readdirSync(directory).flatMap((name) => {
    if (!name.startsWith(before) || !name.endsWith(after)) return [];
    const digits = name.slice(before.length, -after.length);
    return /^[1-9]\d{0,8}$/.test(digits) ? [Number(digits)] : [];
  });
  return numbers.sort((one, other) => one - other).map((number) => readOldKey(files, number));
}

function readOldKey(files: KeyFiles, number: number): OldKey {
  const file = oldKeyFile(files, number);
  try {
    const key = createPublicKey(readFileSync(file, 'utf8'));
    if (isP256(key)) return { number, file, key };
  } catch (cause) {
    throw new KeyError(`${file} holds no readable public key`, { cause });
  }
  throw new KeyError(`${file} holds no EC P-256 key`);
}

/**
 * Rejects a private key that others can read, since they could impersonate anyone. As with
 * PostgreSQL's key, a file owned by root may be readable by a group, for programs that root starts
 * for others. Windows has no such bits.
 */
export function refuseOpenFile(file: string, power = 'act as anyone'): void {
  const { mode, uid } = statSync(file, { throwIfNoEntry: false }) ?? { mode: 0, uid: 0 };
  const forbidden = uid === 0 ? 0o037 : 0o077;
  if (process.platform === 'win32' || (mode & forbidden) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new KeyError(
    `${file} can be read or written by others (mode ${octal}), who could then ${power}. ` +
      `Fix it with: chmod 600 ${file}`,
  );
}

function readKey(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KeyError(
      `Unable to read ${what}: ${file}. Both key files must exist; remove the other one only ` +
        'if every token that this host has issued may become invalid.',
      { cause },
    );
  }
}

type Pair = Omit<HostKeys, 'oldKeys'>;

function isPair({ privateKey, publicKey }: Pair): boolean {
  return createPublicKey(privateKey).equals(publicKey);
}

function withPublicKeyOf(privateKey: KeyObject): Pair {
  const publicKey = createPublicKey(privateKey);
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { privateKey, publicKey, publicPem };
}

function unrelated({ privateKeyFile, publicKeyFile }: KeyFiles): KeyError {
  return new KeyError(
    `${publicKeyFile} is not the public key of ${privateKeyFile}. ` +
      'Put the two files that belong together in place.',
  );
}

function parsePair(files: KeyFiles, privatePem: string, publicPem: string): Pair {
  try {
    const privateKey = createPrivateKey(privatePem);
    const publicKey = createPublicKey(publicPem);
    if (!isP256(privateKey)) throw new KeyError(`${files.privateKeyFile} holds no EC P-256 key`);
    return { privateKey, publicKey, publicPem };
  } catch (cause) {
    if (cause instanceof KeyError) throw cause;
    throw new KeyError(`${files.privateKeyFile} and its .pub file hold no readable key pair`, {
      cause,
    });
  }
}

function isP256({ asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyDetails?.namedCurve === 'prime256v1';
}
