import { constants } from 'node:crypto';
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

/**
 * How both ends of a link prove that they belong to one cluster. Which secret they do it by can
 * change while hosts run: it is looked up for each connection.
 */
export class LinkIdentity {
  readonly #identity: string;
  readonly #secret: ClusterSecret;

  constructor(secret: ClusterSecret, cluster: ClusterId) {
    this.#identity = `reducerdb ${bigintToHex(cluster, 32)}`;
    this.#secret = secret;
  }

  get forServer(): TlsOptions {
    const pskCallback = (_: unknown, identity: string) => {
      const isOurs = identity === this.#identity || identity.startsWith(`${this.#identity} `);
      const name = identity.slice(this.#identity.length + 1) || undefined;
      return isOurs ? (this.#secret.deriveShown(name, purpose) ?? null) : null;
    };
    // A ticket would let in who once had the secret, without being asked for it again.
    return { ...rules, pskCallback, secureOptions: constants.SSL_OP_NO_TICKET };
  }

  get forClient(): ConnectionOptions {
    const pskCallback = () => {
      const name = this.#secret.shownName;
      const identity = name === undefined ? this.#identity : `${this.#identity} ${name}`;
      return { psk: this.#secret.derive(purpose), identity };
    };
    // Asked only of an end that has shown a certificate instead of using the key.
    const checkServerIdentity = () => new Error('the other end does not have the cluster secret');
    return { ...rules, ca: [], pskCallback, checkServerIdentity };
  }
}

const purpose = 'host links';
