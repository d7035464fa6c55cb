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
 * cannot be read by those who can read the engine. Keys for each purpose are derived by HKDF with
 * SHA-256.
 *
 * A sealed box: version 1 (1 byte), nonce (12), ciphertext, tag (16); AES-256-GCM. Its name is
 * authenticated, so that a box cannot stand in for another one.
 */
export class ClusterSecret {
  readonly #key: KeyObject;

  private constructor(bytes: Uint8Array) {
    this.#key = createSecretKey(bytes);
  }

  /** Reads base64, also the kind for URLs. Throws `ClusterError`; `from` says where it stands. */
  static parse(text: string, from: string): ClusterSecret {
    const trimmed = text.trim();
    const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(trimmed);
    const bytes = Buffer.from(trimmed, 'base64');
    if (isBase64 && bytes.length >= limits.clusterSecretBytesMin) return new ClusterSecret(bytes);
    throw new ClusterError(
      `${from}: the cluster secret must be at least ${limits.clusterSecretBytesMin} random bytes ` +
        'in base64. Make one with: openssl rand -base64 32',
    );
  }

  /** 32 bytes for one purpose. */
  derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#key, 'reducerdb cluster', purpose, 32));
  }

  seal(name: string, plain: Uint8Array): Uint8Array {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.derive('boxes'), nonce);
    cipher.setAAD(Buffer.from(name, 'utf8'));
    const sealed = [cipher.update(plain), cipher.final()];
    return Buffer.concat([Buffer.from([version]), nonce, ...sealed, cipher.getAuthTag()]);
  }

  /** `undefined`: it was not sealed under this name with this secret. */
  open(name: string, box: Uint8Array): Uint8Array | undefined {
    if (box[0] !== version || box.length < 1 + nonceBytes + tagBytes) return undefined;
    const nonce = box.subarray(1, 1 + nonceBytes);
    const decipher = createDecipheriv('aes-256-gcm', this.derive('boxes'), nonce);
    decipher.setAAD(Buffer.from(name, 'utf8'));
    decipher.setAuthTag(box.subarray(box.length - tagBytes));
    try {
      const plain = decipher.update(box.subarray(1 + nonceBytes, box.length - tagBytes));
      return Buffer.concat([plain, decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
