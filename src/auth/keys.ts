import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The host's key pair, EC P-256. Kept as two PEM files: the private key in PKCS#8 readable by the
 * owner alone, the public key in SPKI.
 */
export interface HostKeys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The public key file as it is; clients keep it as the host's fingerprint. */
  readonly publicPem: string;
}

export interface KeyFiles {
  readonly privateKeyFile: string;
  readonly publicKeyFile: string;
}

/** The keys cannot be used; the service does not start. */
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

/** Reads the key pair, or makes it when neither file exists. Throws `KeyError`. */
export async function loadKeys(files: KeyFiles, writeFile: WriteFile): Promise<HostKeys> {
  if (!existsSync(files.privateKeyFile) && !existsSync(files.publicKeyFile)) {
    await createKeys(files, writeFile);
  }
  const publicPem = readKey(files.publicKeyFile, 'public key for JWT token verification');
  const privatePem = readKey(files.privateKeyFile, 'private key for JWT token signing');
  return checkedPair(files, privatePem, publicPem);
}

async function createKeys(files: KeyFiles, writeFile: WriteFile): Promise<void> {
  const pair = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  for (const file of [files.privateKeyFile, files.publicKeyFile]) {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  }
  await writeFile(files.privateKeyFile, pair.privateKey, 0o600);
  await writeFile(files.publicKeyFile, pair.publicKey, 0o644);
}

function readKey(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KeyError(
      `Unable to read ${what}: ${file}. Both key files must be there; remove the other one only ` +
        'if every token that this host has issued may become invalid.',
      { cause },
    );
  }
}

function checkedPair(files: KeyFiles, privatePem: string, publicPem: string): HostKeys {
  const keys = parsePair(files, privatePem, publicPem);
  const derived = createPublicKey(keys.privateKey).export({ type: 'spki', format: 'der' });
  if (!derived.equals(keys.publicKey.export({ type: 'spki', format: 'der' }))) {
    throw new KeyError(
      `${files.publicKeyFile} is not the public key of ${files.privateKeyFile}. ` +
        'Put the two files that belong together in place.',
    );
  }
  return keys;
}

function parsePair(files: KeyFiles, privatePem: string, publicPem: string): HostKeys {
  try {
    const privateKey = createPrivateKey(privatePem);
    const publicKey = createPublicKey(publicPem);
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
      throw new KeyError(`${files.privateKeyFile} holds no EC P-256 key`);
    }
    return { privateKey, publicKey, publicPem };
  } catch (cause) {
    if (cause instanceof KeyError) throw cause;
    throw new KeyError(`${files.privateKeyFile} and its .pub file hold no readable key pair`, {
      cause,
    });
  }
}
