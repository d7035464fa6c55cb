import type { ConnectionOptions, TlsOptions } from 'node:tls';
import type { ClusterId } from '../shared-log/log-name.ts';
import { bigintToHex } from '../values/hex.ts';
import type { ClusterSecret } from './cluster-secret.ts';

/**
 * Connections between hosts: TLS 1.3 with a key that both derive from the cluster secret, and no
 * certificates. The platform allows keys of this kind with SHA-256 only.
 */
const rules = {
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
  ciphers: 'TLS_CHACHA20_POLY1305_SHA256',
} as const;

/** How both ends of a link prove that they belong to one cluster. */
export class LinkIdentity {
  readonly #identity: string;
  readonly #key: Buffer;

  constructor(secret: ClusterSecret, cluster: ClusterId) {
    this.#identity = `reducerdb ${bigintToHex(cluster, 32)}`;
    this.#key = secret.derive('host links');
  }

  get forServer(): TlsOptions {
    const pskCallback = (_: unknown, identity: string) =>
      identity === this.#identity ? this.#key : null;
    return { ...rules, pskCallback };
  }

  get forClient(): ConnectionOptions {
    const pskCallback = () => ({ psk: this.#key, identity: this.#identity });
    // Asked only of an end that has shown a certificate instead of using the key.
    const checkServerIdentity = () => new Error('the other end does not have the cluster secret');
    return { ...rules, ca: [], pskCallback, checkServerIdentity };
  }
}
