import { ReadableStream } from 'node:stream/web';
import type { Decrypter, Encrypter } from 'age-encryption';
import { limits } from '../limits.ts';
import { BackupError, wrongKeyError } from './backup-error.ts';
import type { Cipher } from './object-body.ts';

/**
 * Encryption of a repository in the format of `age`, by the package `age-encryption`, which is
 * loaded when it is needed. To write, only the recipients are needed, which are public. A
 * passphrase protects an identity that is kept in the repository: deriving a key from it takes a
 * second, which is spent once when the repository is opened, not for each object.
 */

/** What opens an encrypted repository; each can be absent. */
export interface RepositoryKeys {
  /** Texts that begin with `AGE-SECRET-KEY-`. */
  readonly identities?: readonly string[] | undefined;
  readonly passphrase?: string | undefined;
}

/** Checks recipients that somebody wrote; throws `BackupError` for one that is not one. */
export async function checkRecipients(recipients: readonly string[]): Promise<void> {
  if (recipients.length > limits.backupKeysMax) {
    const text = `a repository has at most ${limits.backupKeysMax} recipients`;
    throw new BackupError('backup.place', text);
  }
  await encrypterFor(recipients);
}

/** Encrypts each body to `recipients`. */
export function encryptTo(recipients: readonly string[]): Cipher {
  let encrypter: Promise<Encrypter> | undefined;
  return async function* encrypt(bytes) {
    encrypter ??= encrypterFor(recipients);
    const stream = await (await encrypter).encrypt(streamOf(bytes));
    yield* piecesOf(stream);
  };
}

/**
 * Decrypts bodies with `identities`. Throws `BackupError` with `object` in its text if none of them
 * opens one; any other error means that the body is damaged.
 */
export function decryptWith(identities: readonly string[], object: string): Cipher {
  return async function* decrypt(bytes) {
    const decrypter = await decrypterOf(identities);
    let stream: AsyncIterable<Uint8Array>;
    try {
      stream = await decrypter.decrypt(streamOf(bytes));
    } catch (error) {
      if (isNoMatch(error)) throw wrongKeyError(object);
      throw error;
    }
    yield* piecesOf(stream);
  };
}

/** A new identity: its text, which is secret, and the recipient that belongs to it. */
export async function newIdentity(): Promise<{ identity: string; recipient: string }> {
  const age = await import('age-encryption');
  const identity = await age.generateX25519Identity();
  return { identity, recipient: await age.identityToRecipient(identity) };
}

/** An identity under a passphrase, as text. */
export async function sealIdentity(identity: string, passphrase: string): Promise<string> {
  const { Encrypter, armor } = await import('age-encryption');
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  return armor.encode(await encrypter.encrypt(identity));
}

/** The identity in such a text; `undefined` if the passphrase is another one. */
export async function openIdentity(
  sealed: string,
  passphrase: string,
): Promise<string | undefined> {
  const { Decrypter, armor } = await import('age-encryption');
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  try {
    return await decrypter.decrypt(armor.decode(sealed), 'text');
  } catch (error) {
    if (isNoMatch(error)) return undefined;
    throw error;
  }
}

/** The identities in the text of a file as the tools of `age` write it. */
export function identitiesIn(text: string): string[] {
  const identities = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (identities.length > limits.backupKeysMax) {
    const message = `an identity file has at most ${limits.backupKeysMax} identities`;
    throw new BackupError('backup.place', message);
  }
  const isFault = identities.some((identity) => !identity.startsWith('AGE-SECRET-KEY-'));
  // The line is not shown: it may be part of a secret.
  if (!isFault && identities.length > 0) return identities;
  const message = 'the identity file has no lines that begin with AGE-SECRET-KEY-, or others too';
  throw new BackupError('backup.place', message);
}

async function encrypterFor(recipients: readonly string[]): Promise<Encrypter> {
  const age = await import('age-encryption');
  const encrypter = new age.Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (error) {
      const text = `${recipient.slice(0, 80)} is not an age recipient; one begins with age1`;
      throw new BackupError('backup.place', text, error);
    }
  }
  return encrypter;
}

async function decrypterOf(identities: readonly string[]): Promise<Decrypter> {
  const age = await import('age-encryption');
  const decrypter = new age.Decrypter();
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity);
    } catch {
      // Neither the text nor the cause, which may quote it: it is a secret.
      throw new BackupError('backup.place', 'an identity is not valid; see age-keygen');
    }
  }
  return decrypter;
}

/** The package says it only by its text; a test fails when that changes. */
function isNoMatch(error: unknown): boolean {
  return error instanceof Error && error.message.includes('no identity matched');
}

function streamOf(bytes: AsyncIterable<Uint8Array>): globalThis.ReadableStream<Uint8Array> {
  const stream = ReadableStream.from(bytes);
  return stream as unknown as globalThis.ReadableStream<Uint8Array>;
}

function piecesOf(stream: unknown): AsyncIterable<Uint8Array> {
  return stream as AsyncIterable<Uint8Array>;
}
