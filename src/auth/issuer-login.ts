import { createHash, randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import type { TokenClaims } from './claims.ts';
import { discoveryAddress, type LoginEndpoints, loginEndpointsIn } from './discovery.ts';
import { type FetchRules, fetchJson, postForm } from './guarded-fetch.ts';
import { OneTimeCodes } from './one-time-codes.ts';
import { parseObject } from './token-json.ts';

/** This service as an issuer knows it. */
export interface LoginClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent: the issuer trusts PKCE alone. */
  readonly clientSecret?: string;
}

/** A login cannot go on. The message is for the person, and holds nothing that strangers wrote. */
export class LoginError extends Error {
  override readonly name = 'LoginError';
}

export interface LoginRequest {
  readonly issuer: string;
  /** The network of the person, as which logins are counted. */
  readonly network: string;
  /** Where the issuer sends the browser back to. */
  readonly redirectUri: string;
  /** What the person gets back to in the end. */
  readonly returnTo: string;
}

interface Begun extends LoginRequest {
  readonly client: LoginClient;
  readonly verifier: string;
  readonly nonce: string;
}

export interface LoggedIn {
  readonly claims: TokenClaims;
  readonly returnTo: string;
}

export interface IssuerLoginsOptions {
  readonly clients: readonly LoginClient[];
  /** Checks an ID token, as tokens of callers are checked. */
  readonly verify: (token: string) => Promise<TokenClaims>;
  /** Receives why a login failed; no code, secret or token is in it. */
  readonly report: (message: string) => void;
}

/** The operator has named these issuers: they can be at any address. */
const anywhere: FetchRules = { allowsLoopback: true, allowsPrivate: true };

/**
 * Logins of people at issuers, by authorization codes with PKCE (OpenID Connect Core 1.0, section
 * 3.1; RFC 7636): this service redeems the code, so no page gets an issuer's token. `state` is a
 * code that counts once; its verifier and nonce stay here.
 */
export class IssuerLogins {
  readonly #options: IssuerLoginsOptions;
  readonly #begun = new OneTimeCodes<Begun>({
    lifeMillis: limits.loginMillis,
    countMax: limits.loginsBegunMax,
    ofOneMax: limits.loginsOfOneMax,
  });
  readonly #endpoints = new Map<string, { readonly at: number; readonly found: LoginEndpoints }>();
  #completing = 0;

  constructor(options: IssuerLoginsOptions) {
    this.#options = options;
  }

  get clients(): readonly LoginClient[] {
    return this.#options.clients;
  }

  /** Returns the address at the issuer to send a browser to. Rejects with `LoginError`. */
  async begin(request: LoginRequest): Promise<string> {
    const client = this.clients.find(({ issuer }) => issuer === request.issuer);
    if (client === undefined) throw new LoginError('Nobody can log in at this issuer');
    const { authorization } = await this.#failing(client, () => this.#endpointsOf(client));
    const [verifier, nonce] = [randomText(), randomText()];
    const begun = this.#begun.issue(request.network, { ...request, client, verifier, nonce });
    if (begun === undefined)
      throw new LoginError('Too many people are logging in; try again later');
    const url = new URL(authorization);
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: request.redirectUri,
      scope: 'openid',
      state: begun.code,
      nonce,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })) {
      url.searchParams.set(name, value);
    }
    return url.href;
  }

  /** Uses up the state of a login that ends without a code; returns where the person goes. */
  abandon(state: string): string | undefined {
    return this.#begun.take(state)?.returnTo;
  }

  /**
   * Redeems the code with which an issuer sent a browser back. `issuer` is what the address says of
   * itself (RFC 9207). Rejects with `LoginError`.
   */
  async complete(state: string, code: string, issuer: string | undefined): Promise<LoggedIn> {
    const begun = this.#begun.take(state);
    if (begun === undefined) throw new LoginError(lateText);
    const { client, returnTo } = begun;
    if (issuer !== undefined && issuer !== client.issuer) {
      throw new LoginError('The answer came from another issuer than was asked');
    }
    if (this.#completing >= limits.loginsCompletedAtOnceMax) {
      throw new LoginError('Too many people are logging in; try again later');
    }
    this.#completing += 1;
    try {
      const claims = await this.#failing(client, () => this.#redeem(begun, code));
      return { claims, returnTo };
    } finally {
      this.#completing -= 1;
    }
  }

  async #redeem({ client, verifier, nonce, redirectUri }: Begun, code: string) {
    const { clientId, clientSecret, issuer } = client;
    const { token: address, takesSecretInForm } = await this.#endpointsOf(client);
    const inForm = clientSecret !== undefined && takesSecretInForm;
    const inHeader = clientSecret !== undefined && !takesSecretInForm;
    const form = {
      fields: {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        client_id: clientId,
        code_verifier: verifier,
        ...(inForm && { client_secret: clientSecret }),
      },
      headers: inHeader ? { authorization: basic(clientId, clientSecret) } : {},
    };
    const answer = (await postForm(address, form, anywhere)) as { id_token?: unknown } | null;
    const token = answer?.id_token;
    if (typeof token !== 'string') throw new Error('the answer has no `id_token`');
    const claims = await this.#options.verify(token);
    const fault = faultIn(claims, { issuer, clientId, nonce });
    if (fault !== undefined) throw new Error(fault);
    return claims;
  }

  async #endpointsOf({ issuer }: LoginClient): Promise<LoginEndpoints> {
    const known = this.#endpoints.get(issuer);
    const now = performance.now();
    if (known !== undefined && now - known.at < limits.loginEndpointsKeptMillis) return known.found;
    const { document } = await fetchJson(discoveryAddress(issuer), anywhere);
    const found = loginEndpointsIn(document, issuer);
    this.#endpoints.set(issuer, { at: now, found });
    return found;
  }

  /** Tells the operator what went wrong, and the person that something did. */
  async #failing<Result>({ issuer }: LoginClient, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (cause) {
      this.#options.report(`a login at ${issuer} failed: ${(cause as Error).message}`);
      throw new LoginError(`The login at ${issuer} failed; the log of the service says why`, {
        cause,
      });
    }
  }
}

const lateText =
  `This login does not count: it was used, or began more than ${limits.loginMillis / 60_000} ` +
  'minutes ago. Log in again.';

/** Why a token that is valid is not the one that was asked for (OpenID Connect Core, 3.1.3.7). */
function faultIn(
  claims: TokenClaims,
  asked: { readonly issuer: string; readonly clientId: string; readonly nonce: string },
): string | undefined {
  const { issuer, audiences, payload, isStandIn, session, capability } = claims;
  const { nonce, azp } = parseObject(payload);
  if (issuer !== asked.issuer) return 'the ID token is that of another issuer';
  if (!audiences.includes(asked.clientId)) return 'the ID token is for another client';
  // With several audiences, only this says for which of them the issuer made it.
  if (azp === undefined ? audiences.length > 1 : azp !== asked.clientId)
    return 'the ID token was made for another client';
  if (nonce !== asked.nonce) return 'the ID token is that of another login';
  const isOwn = isStandIn || session !== undefined || capability !== undefined;
  return isOwn ? 'the ID token was made by this service' : undefined;
}

function basic(id: string, secret: string): string {
  const pair = [id, secret].map(encodeURIComponent).join(':');
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

function randomText(): string {
  return randomBytes(32).toString('base64url');
}
