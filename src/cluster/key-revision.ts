import { createPublicKey } from 'node:crypto';
import { fingerprintOf } from '../auth/keys.ts';
import { fingerprintOfKeyText } from '../auth/secret-keys.ts';
import { limits } from '../limits.ts';
import {
  list,
  nullable,
  number,
  object,
  optional,
  parseAs,
  type Shaped,
  string,
} from '../values/json-shape.ts';
import { ClusterError } from './cluster-error.ts';

/**
 * What the hosts of a cluster share of keys, and of settings that must be the same, as one JSON
 * text. It is never changed: a later revision takes its place. Revision 0 is what the cluster began
 * with.
 */
export type KeyRevision = Shaped<typeof revisionShape>;

/**
 * One of both: the lease of a cluster whose leaders ask the engine for confirmed reads, or answer
 * those within it. A version that does not know the second finds no lease, and does not join: its
 * claims would not wait.
 */
export const leaseFields = { leaseMillis: optional(number), readLeaseMillis: optional(number) };

const pair = object({ privatePem: string, publicPem: string, sinceMillis: number });

const revisionShape = object({
  revision: number,
  /** It signs tokens; the public keys of earlier pairs verify them, and so does the next one's. */
  signing: pair,
  old: list(object({ number, publicPem: string, sinceMillis: number })),
  /** Signs when all hosts verify what it signs. */
  next: nullable(pair),
  /** Fingerprints of keys whose tokens are rejected. */
  retired: list(string),
  /** Keys that encrypt secrets of databases: the last one does, unless it waits for hosts. */
  secrets: list(object({ number, text: string, sinceMillis: number })),
  waits: nullable(number),
  retiredSecrets: list(string),
  ...leaseFields,
  /** Where hosts share snapshots. */
  snapshots: string,
  /** The name of the cluster secret that sealed it; `null`: the one that the cluster began with. */
  secret: nullable(string),
  /** Names of those that were in use before. */
  pastSecrets: list(string),
});

type Pair = Shaped<typeof pair>;

export function encodeRevision(revision: KeyRevision): Uint8Array {
  return Buffer.from(JSON.stringify(revision), 'utf8');
}

/** Throws `JsonError`. */
export function decodeRevision(bytes: Uint8Array): KeyRevision {
  return parseAs(Buffer.from(bytes).toString('utf8'), revisionShape);
}

export function fingerprintOfPem(pem: string): string {
  return fingerprintOf(createPublicKey(pem));
}

/** With a pair that verifies, and signs next. Throws `ClusterError`. */
export function withNextPair(before: KeyRevision, next: Pair): KeyRevision {
  if (before.next !== null) return before;
  requireRoom(before.old.length, 'old keys');
  return { ...before, revision: before.revision + 1, next };
}

/** The next pair signs, and what signed verifies. */
export function withPairSigning(before: KeyRevision, nowMillis: number): KeyRevision {
  const { next, signing, old } = before;
  if (next === null) return before;
  const number = Math.max(0, ...old.map((one) => one.number)) + 1;
  const { publicPem } = signing;
  return {
    ...before,
    revision: before.revision + 1,
    ...{ signing: { ...next, sinceMillis: nowMillis }, next: null },
    old: [...old, { number, publicPem, sinceMillis: nowMillis }],
  };
}

/** Without old keys, whose tokens are rejected then. */
export function withoutOldKeys(
  before: KeyRevision,
  isRetired: (number: number) => boolean,
): KeyRevision {
  const gone = before.old.filter(({ number }) => isRetired(number));
  if (gone.length === 0) return before;
  const retired = [...before.retired, ...gone.map(({ publicPem }) => fingerprintOfPem(publicPem))];
  return {
    ...before,
    revision: before.revision + 1,
    old: before.old.filter(({ number }) => !isRetired(number)),
    retired: retired.slice(-limits.retiredKeysMax),
  };
}

/** With a key for secrets that decrypts, and encrypts next. Throws `ClusterError`. */
export function withNextSecretsKey(
  before: KeyRevision,
  text: string,
  nowMillis: number,
): KeyRevision {
  if (before.waits !== null) return before;
  requireRoom(before.secrets.length - 1, 'keys for secrets');
  const number = Math.max(0, ...before.secrets.map((one) => one.number)) + 1;
  return {
    ...before,
    ...{ revision: before.revision + 1, waits: number },
    secrets: [...before.secrets, { number, text, sinceMillis: nowMillis }],
  };
}

/** The next key for secrets encrypts. */
export function withSecretsKeyUsed(before: KeyRevision): KeyRevision {
  if (before.waits === null) return before;
  return { ...before, revision: before.revision + 1, waits: null };
}

/** Without a key for secrets that does not encrypt. */
export function withoutSecretsKey(before: KeyRevision, number: number): KeyRevision {
  const encrypts = encryptingKey(before)?.number;
  const gone = before.secrets.find((one) => one.number === number);
  if (gone === undefined || number === encrypts || number === before.waits) return before;
  const retiredSecrets = [...before.retiredSecrets, fingerprintOfKeyText(gone.text)];
  return {
    ...before,
    revision: before.revision + 1,
    secrets: before.secrets.filter((one) => one !== gone),
    retiredSecrets: retiredSecrets.slice(-limits.retiredKeysMax),
  };
}

/** Sealed with another secret of the cluster from now on; `past`: the one that was in use. */
export function withSecret(before: KeyRevision, past: string, secret: string): KeyRevision {
  const pastSecrets = [...before.pastSecrets, past].slice(-limits.retiredKeysMax);
  return { ...before, revision: before.revision + 1, secret, pastSecrets };
}

/** The key that encrypts secrets of databases. */
export function encryptingKey({
  secrets,
  waits,
}: KeyRevision): KeyRevision['secrets'][number] | undefined {
  return secrets.findLast(({ number }) => number !== waits);
}

function requireRoom(count: number, what: string): void {
  if (count < limits.oldKeysMax) return;
  throw new ClusterError(`There are ${count} ${what}, and no more are kept: retire some first.`);
}
