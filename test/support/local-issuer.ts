import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactSign, exportJWK, generateKeyPair, type JWK } from 'jose';

/** Makes a token of an issuer from claims, and more of its header. */
export type SignClaims = (claims?: object, header?: object) => Promise<string>;

export interface IssuerSigner extends SignClaims {
  /** Of a payload that is signed as it is written. */
  readonly text: (payload: string) => Promise<string>;
}

/** What the issuer answers at a path of its own. */
export type Page = (url: URL, response: ServerResponse, request: IncomingMessage) => void;

interface Fault {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/**
 * An OpenID Connect issuer on loopback, as far as a service needs one: its discovery document and
 * its keys, both of which can be changed. It counts how often it is asked.
 */
export class LocalIssuer {
  readonly #server: Server;
  readonly asked: string[] = [];
  keys: JWK[] = [];
  /** What is answered instead of the documents, by the end of the path; `''`: instead of both. */
  faults: Record<string, Fault | 'silence'> = {};
  stated: string | undefined;
  /** What stands in the discovery document besides, and what is at the paths that it names. */
  discovery: object = {};
  readonly pages = new Map<string, Page>();
  url = '';

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? '');
      const url = new URL(request.url ?? '', this.url);
      const page = this.pages.get(url.pathname);
      if (page === undefined) this.#answer(request.url ?? '', response);
      else page(url, response, request);
    });
  }

  static async start(): Promise<LocalIssuer> {
    const issuer = new LocalIssuer();
    await new Promise<void>((done) => issuer.#server.listen(0, '127.0.0.1', done));
    issuer.url = `http://127.0.0.1:${(issuer.#server.address() as AddressInfo).port}`;
    return issuer;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** A new key in the set; gives what signs with it. */
  async addKey(alg: string, kid: string, more: Partial<JWK> = {}): Promise<IssuerSigner> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    this.keys.push({ ...(await exportJWK(publicKey)), kid, ...more });
    const sign = (payload: string, header: object) =>
      new CompactSign(Buffer.from(payload))
        .setProtectedHeader({ alg, kid, ...header })
        .sign(privateKey);
    const signClaims: SignClaims = (claims = {}, header = {}) =>
      sign(JSON.stringify({ iss: this.url, sub: 'ada', iat: 1, ...claims }), header);
    return Object.assign(signClaims, { text: (payload: string) => sign(payload, {}) });
  }

  #answer(path: string, response: ServerResponse): void {
    const [, fault] = Object.entries(this.faults).find(([end]) => path.endsWith(end)) ?? [];
    if (fault === 'silence') return;
    if (fault !== undefined) {
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const isDiscovery = path === '/.well-known/openid-configuration';
    const issuer = this.stated ?? this.url;
    const discovery = { issuer, jwks_uri: `${this.url}/keys`, ...this.discovery };
    response.end(JSON.stringify(isDiscovery ? discovery : { keys: this.keys }));
  }
}
