import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { limits } from '../limits.ts';
import { ClusterError } from './cluster-error.ts';

/**
 * The secret that all hosts of a cluster have besides the engine's credentials: what it seals
 * cannot be read by those who can read the engine. While it is being changed a host has two: the
 * one that counts seals, and both open. Keys for each purpose are derived by HKDF with SHA-256.
 *
 * A sealed box: version 1 (1 byte), nonce (12), ciphertext, tag (16); AES-256-GCM. Its name is
 * authenticated, so that a box cannot stand in for another one.
 */
export class ClusterSecret {
  #secrets: readonly OneSecret[];
  #counting: OneSecret;
  /** False: the cluster has had no other secret. */
  #isChanged = false;

  private constructor(secrets: readonly [OneSecret, ...OneSecret[]]) {
    this.#secrets = secrets;
    this.#counting = secrets[0];
  }

  /**
   * Reads base64, also the kind for URLs, or two of them on lines of their own. Throws
   * `ClusterError`; `from` says where it stands.
   */
  static parse(text: string, from: string): ClusterSecret {
    const words = text.split(/\s+/).filter(Boolean);
    const [first, ...rest] = words.length === 0 ? [''] : words;
    if (rest.length >= limits.clusterSecretsMax) {
      throw new ClusterError(
        `${from}: there are ${words.length} secrets. A host has one, or, while the cluster gets ` +
          `a new one, ${limits.clusterSecretsMax}: the new one and the one before.`,
      );
    }
    return new ClusterSecret([
      parseOne(first ?? '', from),
      ...rest.map((one) => parseOne(one, from)),
    ]);
  }

  /** Public names of the secrets, the one that counts first. */
  get names(): readonly string[] {
    const others = this.#secrets.filter((one) => one !== this.#counting);
    return [this.#counting, ...others].map(({ name }) => name);
  }

  /** The secret that counts has been changed to the one with this name, or was always that. */
  count(name: string, isChanged: boolean): void {
    this.#counting = this.#secrets.find((one) => one.name === name) ?? this.#counting;
    this.#isChanged = isChanged;
  }

  /** Has those of another one instead; which one counts stays if both have it. */
  replaceBy(other: ClusterSecret): void {
    const { name } = this.#counting;
    this.#secrets = other.#secrets;
    this.#counting = other.#secrets.find((one) => one.name === name) ?? other.#counting;
  }

  /** 32 bytes for one purpose, of the secret that counts. */
  derive(purpose: string): Buffer {
    return this.#counting.derive(purpose);
  }

  /** Name of the secret by which this host proves itself to others; absent: by the first one. */
  get shownName(): string | undefined {
    return this.#isChanged ? this.#counting.name : undefined;
  }

  /**
   * The same of another host. One that shows no name has not heard yet that the secret has
   * changed. `undefined`: this host does not have that secret.
   */
  deriveShown(name: string | undefined, purpose: string): Buffer | undefined {
    const before = this.#isChanged
      ? this.#secrets.find((one) => one !== this.#counting)
      : this.#counting;
    const found = name === undefined ? before : this.#secrets.find((one) => one.name === name);
    return found?.derive(purpose);
  }

  /** `by`: the name of a secret, else the one that counts. */
  seal(name: string, plain: Uint8Array, by?: string): Uint8Array {
    const sealing = this.#secrets.find((one) => one.name === by) ?? this.#counting;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', sealing.derive(boxes), nonce);
    cipher.setAAD(Buffer.from(name, 'utf8'));
    const sealed = [cipher.update(plain), cipher.final()];
    return Buffer.concat([Buffer.from([version]), nonce, ...sealed, cipher.getAuthTag()]);
  }

  /** `undefined`: it was not sealed under this name with a secret of this host. */
  open(name: string, box: Uint8Array): Uint8Array | undefined {
    return this.opened(name, box)?.plain;
  }

  /** Says with which secret, too. */
  opened(name: string, box: Uint8Array): { plain: Uint8Array; by: string } | undefined {
    for (const secret of this.#secrets) {
      const plain = openWith(secret, name, box);
      if (plain !== undefined) return { plain, by: secret.name };
    }
    return undefined;
  }
}

/** One secret, and what it is called: that does not give it away. */
class OneSecret {
  readonly name: string;
  readonly #key: KeyObject;

  constructor(bytes: Uint8Array) {
    this.#key = createSecretKey(bytes);
    this.name = this.derive('name').toString('hex', 0, nameBytes);
  }

  derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#key, 'reducerdb cluster', purpose, 32));
  }
}

function parseOne(text: string, from: string): OneSecret {
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text);
  const bytes = Buffer.from(text, 'base64');
  if (isBase64 && bytes.length >= limits.clusterSecretBytesMin) return new OneSecret(bytes);
  throw new ClusterError(
    `${from}: the cluster secret must be at least ${limits.clusterSecretBytesMin} random bytes ` +
      'in base64. Make one with: openssl rand -base64 32',
  );
}

function openWith(secret: OneSecret, name: string, box: Uint8Array): Uint8Array | undefined {
  if (box[0] !== version || box.length < 1 + nonceBytes + tagBytes) return undefined;
  const nonce = box.subarray(1, 1 + nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', secret.derive(boxes), nonce);
  decipher.setAAD(Buffer.from(name, 'utf8'));
  decipher.setAuthTag(box.subarray(box.length - tagBytes));
  try {
    const plain = decipher.update(box.subarray(1 + nonceBytes, box.length - tagBytes));
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return undefined;
  }
}

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const nameBytes = 8;
const boxes = 'boxes';
