import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { KeyError, refuseOpenFile, type WriteFile } from './keys.ts';

/**
 * The keys that encrypt the secrets of databases at rest, AES-256 in GCM. Each is a file of its own
 * in the key folder, readable only by the owner; that with the highest number encrypts, the others
 * only decrypt. `docs/format/secrets.md` gives the bytes.
 */
export interface SecretKey {
  /** Counted from 1, the first key of the host. */
  readonly number: number;
  readonly file: string;
  /** Short name, which does not depend on where the key is stored. */
  readonly fingerprint: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What a sealed value belongs to: it cannot be opened as anything else. */
export interface SealedFor {
  readonly database: DatabaseIdentity;
  readonly name: string;
  readonly version: bigint;
}

export interface Sealed {
  /** Nonce, ciphertext and tag. */
  readonly bytes: Uint8Array;
  /** Fingerprint of the key. */
  readonly by: string;
}

const keyBytes = 32;
const nonceBytes = 12;
const algorithm = 'AES-GCM';

/** The keys in a folder, by number, and what is wrong with those that cannot be used. */
export interface FoundKeys {
  readonly keys: readonly SecretKey[];
  /** One sentence each. */
  readonly faults: readonly string[];
}

/** Reads the keys of a folder. Throws `KeyError` for one that others can read. */
export function readSecretKeys(folder: string): FoundKeys {
  const keys: SecretKey[] = [];
  const faults: string[] = [];
  for (const number of numbersIn(folder)) {
    const file = secretKeyFile(folder, number);
    refuseOpenFile(file, 'read secrets');
    const found = parseKey(readFileSync(file, 'utf8'));
    if (found === undefined) faults.push(`${file} holds no key for secrets`);
    else keys.push({ number, file, fingerprint: fingerprintOfSecretKey(found), bytes: found });
  }
  return { keys, faults };
}

/**
 * Creates a key that encrypts from the next start or reload on; the others still decrypt. Its
 * number is above `after`.
 */
export async function addSecretKey(folder: string, writeFile: WriteFile, after = 0): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const numbers = numbersIn(folder);
  if (numbers.length > limits.oldKeysMax) {
    const text = `There are ${numbers.length} keys for secrets, and no more are kept`;
    throw new KeyError(`${text}: retire some first.`);
  }
  const file = secretKeyFile(folder, Math.max(after, numbers.at(-1) ?? 0) + 1);
  await writeFile(file, newSecretKeyText(), 0o600);
}

/** What the file of a new key has. */
export function newSecretKeyText(): string {
  return `${randomBytes(keyBytes).toString('base64url')}\n`;
}

/** Seals and opens values with the keys of a folder; `undefined`: with a key in memory. */
export class SecretKeys {
  readonly #folder: string | undefined;
  readonly #writeFile: WriteFile;
  #found: FoundKeys = { keys: [], faults: [] };
  #held: string | undefined;

  /** Throws `KeyError`. */
  constructor(folder: string | undefined, writeFile: WriteFile) {
    this.#folder = folder;
    this.#writeFile = writeFile;
    this.reload();
  }

  /** Reads the folder again. Throws `KeyError`, and keeps the keys that it has. */
  reload(): void {
    if (this.#folder !== undefined) this.#found = readSecretKeys(this.#folder);
  }

  get faults(): readonly string[] {
    return this.#found.faults;
  }

  has(fingerprint: string): boolean {
    return this.#keyOf(fingerprint) !== undefined;
  }

  /** Fingerprint of the key that encrypts, if there is one already. */
  get current(): string | undefined {
    return this.#encrypting?.fingerprint;
  }

  /** The key with this fingerprint does not encrypt yet; `undefined`: there is no such key. */
  hold(fingerprint: string | undefined): void {
    this.#held = fingerprint;
  }

  get #encrypting(): SecretKey | undefined {
    return this.#found.keys.findLast((key) => key.fingerprint !== this.#held);
  }

  /** Creates a key, if there is none, with a number above `after`. */
  async seal(text: string, about: SealedFor, after = 0): Promise<Sealed> {
    if (this.#encrypting === undefined) await this.#create(after);
    const { bytes, fingerprint } = this.#encrypting as SecretKey;
    const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
    const additionalData = additionalDataOf(about);
    const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['encrypt']);
    const given = { name: algorithm, iv: nonce, additionalData };
    const sealed = await crypto.subtle.encrypt(given, key, new TextEncoder().encode(text));
    return { bytes: Buffer.concat([nonce, new Uint8Array(sealed)]), by: fingerprint };
  }

  /** `undefined`: the key is missing, or it was not sealed for this. */
  async open({ bytes, by }: Sealed, about: SealedFor): Promise<string | undefined> {
    const found = this.#keyOf(by);
    if (found === undefined) return undefined;
    const additionalData = additionalDataOf(about);
    const key = await crypto.subtle.importKey('raw', found.bytes, algorithm, false, ['decrypt']);
    const given = { name: algorithm, iv: bytes.slice(0, nonceBytes), additionalData };
    try {
      const opened = await crypto.subtle.decrypt(given, key, bytes.slice(nonceBytes));
      return new TextDecoder().decode(opened);
    } catch {
      // Every fault is the same to the platform, which says no more about it.
      return undefined;
    }
  }

  async #create(after: number): Promise<void> {
    if (this.#folder !== undefined) {
      await addSecretKey(this.#folder, this.#writeFile, after);
      this.reload();
      return;
    }
    const bytes = crypto.getRandomValues(new Uint8Array(keyBytes));
    const key = { number: 1, file: '', fingerprint: fingerprintOfSecretKey(bytes), bytes };
    this.#found = { keys: [key], faults: this.#found.faults };
  }

  #keyOf(fingerprint: string): SecretKey | undefined {
    return this.#found.keys.find((key) => key.fingerprint === fingerprint);
  }
}

/** The file of the key with a number. */
export function secretKeyFile(folder: string, number: number): string {
  return path.join(folder, `secrets.${number}.key`);
}

function numbersIn(folder: string): number[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const numbers = names.flatMap((name) => {
    const digits = /^secrets\.([1-9]\d{0,8})\.key$/.exec(name)?.[1];
    return digits === undefined ? [] : [Number(digits)];
  });
  return numbers.sort((one, other) => one - other);
}

/** The short name of the key that a file has; of no key that of the text itself. */
export function fingerprintOfKeyText(text: string): string {
  return fingerprintOfSecretKey(parseKey(text) ?? Buffer.from(text));
}

function parseKey(text: string): Uint8Array<ArrayBuffer> | undefined {
  const words = text.trim();
  if (!/^[\w-]{43}$/.test(words)) return undefined;
  const bytes = new Uint8Array(Buffer.from(words, 'base64url'));
  return bytes.length === keyBytes ? bytes : undefined;
}

function fingerprintOfSecretKey(bytes: Uint8Array): string {
  const hash = createHash('sha256').update('reducerdb secrets\0').update(bytes);
  return `SHA256:${hash.digest('base64url')}`;
}

/** A ciphertext that is moved to another database, name or version cannot be opened. */
function additionalDataOf({ database, name, version }: SealedFor): Uint8Array<ArrayBuffer> {
  const text = `reducerdb-secret-1\0${identityToHex(database)}\0${name}\0${version}`;
  return new TextEncoder().encode(text);
}
