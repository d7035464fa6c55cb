import { StreamableHTTPClientTransport as HttpTwo } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as HttpOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveIdentity } from '../../src/auth/identity.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { LocalIssuer } from '../support/local-issuer.ts';
import { offerLogin } from '../support/login-pages.ts';
import { freePort } from './harness.ts';
import { type Generation, generations } from './official-clients.ts';
import { Running } from './running.ts';

/** Official clients that come without a token, and find out by themselves where to get one. */

let issuer: LocalIssuer;
let running: Running;
const endpoint = '/v1/mcp';

beforeAll(async () => {
  issuer = await LocalIssuer.start();
  offerLogin(issuer, await issuer.addKey('ES256', 'key'));
  const port = await freePort();
  const audiences = [`http://127.0.0.1:${port}${endpoint}`];
  running = await Running.start({
    listen: { host: '127.0.0.1', port },
    issuers: { accepted: [{ issuer: issuer.url, audiences }] },
    mcpLogin: true,
  });
});
afterAll(async () => {
  await running.stop();
  issuer.stop();
});

/** A client that the issuer knows, and whose user logs in when sent there. */
class Visitor {
  readonly redirectUrl = 'http://127.0.0.1:9/callback';
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: 'test' };
  /** Where the user was sent. */
  sentTo: URL | undefined;
  #tokens: object | undefined;
  #verifier = '';

  clientInformation() {
    return { client_id: 'test' };
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(tokens: object) {
    this.#tokens = tokens;
  }

  redirectToAuthorization(url: URL) {
    this.sentTo = url;
  }

  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }

  codeVerifier() {
    return this.#verifier;
  }

  /** The code with which the issuer sends the user back. */
  async logIn(): Promise<string> {
    const answer = await fetch(this.sentTo ?? '', { redirect: 'manual' });
    const back = new URL(answer.headers.get('location') ?? '');
    return back.searchParams.get('code') ?? '';
  }
}

interface LoginTransport {
  finishAuth(code: string): Promise<void>;
}

function transportFor({ title }: Generation, visitor: Visitor, query = ''): LoginTransport {
  const url = new URL(`${endpoint}${query}`, running.service.url);
  const Transport = title === '1.x' ? HttpOne : HttpTwo;
  return new Transport(url, { authProvider: visitor as never });
}

describe.each(generations)('[mcp B10] the official client $title', (generation) => {
  it('learns from a 401 where to log in, and comes back as who it is there', async () => {
    const visitor = new Visitor();
    const first = transportFor(generation, visitor);
    await expect(generation.client().connect(first)).rejects.toThrow();
    expect(visitor.sentTo?.origin).toBe(issuer.url);
    const resource = `${running.service.url}${endpoint}`;
    expect(visitor.sentTo?.searchParams.get('resource')).toBe(resource);
    await first.finishAuth(await visitor.logIn());
    const client = generation.client();
    await client.connect(transportFor(generation, visitor, '?features=whoami'));
    const { structuredContent } = await client.callTool({ name: 'whoami' });
    const identity = identityToHex(deriveIdentity(issuer.url, 'ada'));
    expect(structuredContent).toMatchObject({ identity, anonymous: false });
    await client.close();
  });
});
