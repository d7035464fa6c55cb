import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deriveIdentity } from '../../src/auth/identity.ts';
import { limits } from '../../src/limits.ts';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { type IssuerSigner, LocalIssuer } from '../support/local-issuer.ts';
import { type Answer, Running } from './running.ts';

/** Logging in to the console at an issuer on this machine, which speaks OpenID Connect. */

const clientId = 'my-console';
const secret = 'se=cret';

let running: Running;
let issuer: LocalIssuer;
let sign: IssuerSigner;
/** What the issuer says of the person who logs in; changed by tests of faults. */
let claims: (nonce: string) => object;
/** What it answers instead of a token. */
let fault: ((response: ServerResponse) => void) | undefined;
/** The logins that it has seen, by the code that it gave. */
const asked = new Map<string, URLSearchParams>();
let forms: { form: URLSearchParams; authorization: string | undefined }[] = [];

beforeAll(async () => {
  issuer = await LocalIssuer.start();
  sign = await issuer.addKey('ES256', 'one');
  issuer.discovery = {
    authorization_endpoint: `${issuer.url}/authorize?tenant=7`,
    token_endpoint: `${issuer.url}/token`,
  };
  issuer.pages.set('/authorize', authorize);
  issuer.pages.set('/token', (_, response, request) => void redeem(request, response));
  running = await Running.start(configuration());
});
afterAll(async () => {
  await running.stop();
  issuer.stop();
});
beforeEach(() => {
  claims = (nonce) => ({ sub: 'ada', aud: clientId, nonce, iat: seconds(), exp: seconds() + 60 });
  fault = undefined;
  forms = [];
});

const seconds = () => Math.floor(Date.now() / 1_000);

function configuration(more: GivenConfiguration = {}): GivenConfiguration {
  return {
    loginClients: { [issuer.url]: clientId },
    loginSecrets: { [issuer.url]: secret },
    ...more,
  };
}

/** Asks the person nothing, and sends the browser back. */
function authorize({ searchParams }: URL, response: ServerResponse): void {
  const code = `code-${asked.size}`;
  asked.set(code, searchParams);
  const back = new URL(searchParams.get('redirect_uri') ?? '');
  back.searchParams.set('code', code);
  back.searchParams.set('state', searchParams.get('state') ?? '');
  response.writeHead(302, { location: back.href }).end();
}

/** Redeems a code as an issuer has to: for the client, with the verifier of the challenge. */
async function redeem(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += chunk;
  const form = new URLSearchParams(body);
  forms.push({ form, authorization: request.headers.authorization });
  if (fault !== undefined) return fault(response);
  const login = asked.get(form.get('code') ?? '');
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  const isRight =
    request.method === 'POST' &&
    form.get('grant_type') === 'authorization_code' &&
    form.get('client_id') === login?.get('client_id') &&
    form.get('redirect_uri') === login?.get('redirect_uri') &&
    challenge === login?.get('code_challenge');
  if (!isRight) {
    response.writeHead(400).end('{"error":"invalid_grant"}');
    return;
  }
  response.end(JSON.stringify({ id_token: await sign(claims(login?.get('nonce') ?? '')) }));
}

/** Goes to an address without following where it leads. */
async function go(where: string, from = running): Promise<Answer> {
  const address = where.startsWith('http') ? where : `${from.service.url}${where}`;
  const answer = await fetch(address, { redirect: 'manual' });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

const next = ({ headers }: Answer) => headers.get('location') ?? '';

/** Follows a login to the page to which it leads. */
async function loggedIn(back = '/console/db/shop?tab=data', from = running): Promise<string> {
  const query = new URLSearchParams({ issuer: issuer.url, return: back });
  const toIssuer = await go(`/v1/console/login?${query}`, from);
  expect(toIssuer.status).toBe(302);
  const back302 = await go(next(await go(next(toIssuer))));
  expect(back302.status).toBe(302);
  expect(back302.headers.get('referrer-policy')).toBe('no-referrer');
  expect(back302.headers.get('cache-control')).toBe('no-store');
  return next(back302);
}

const faultIn = (address: string) => {
  const [, text = ''] = /#error=(.*)$/.exec(address) ?? [];
  return decodeURIComponent(text);
};

async function sessionFrom(address: string): Promise<Record<string, string>> {
  const body = JSON.stringify({ code: /#code=([\w-]{43})$/.exec(address)?.[1] });
  const headers = { 'content-type': 'application/json' };
  const { status, text } = await running.ask('POST', '/v1/console/sessions', { body, headers });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text);
}

describe('[http 17.7, console 1.3] a login at an issuer', () => {
  it('makes a session of the account there, of 12 hours, at the page where it began', async () => {
    const page = await loggedIn();
    expect(page).toMatch(/^\/console\/db\/shop\?tab=data#code=[\w-]{43}$/);
    const session = await sessionFrom(page);
    expect(session.identity).toBe(identityToHex(deriveIdentity(issuer.url, 'ada')));
    // The ID token has ended long before.
    const left = Date.parse(session.expires_at ?? '') - Date.now();
    expect(left).toBeGreaterThan(12 * 3_600_000 - 60_000);
    const as = { identity: session.identity ?? '', token: session.token ?? '' };
    const verified = await running.ask('GET', `/v1/identity/${as.identity}/verify`, { as });
    expect(verified.status).toBe(204);
  });

  it('sends the issuer what it needs, and keeps the rest', async () => {
    const answer = await go('/v1/console/login');
    const to = new URL(next(answer));
    expect(`${to.origin}${to.pathname}`).toBe(`${issuer.url}/authorize`);
    expect(Object.fromEntries(to.searchParams)).toEqual({
      tenant: '7',
      response_type: 'code',
      client_id: clientId,
      redirect_uri: `${running.service.url}/v1/console/callback`,
      scope: 'openid',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(next(answer)).not.toContain(secret);
    await loggedIn();
    const [sent] = forms;
    const pair = Buffer.from(`${clientId}:${encodeURIComponent(secret)}`).toString('base64');
    expect(sent?.authorization).toBe(`Basic ${pair}`);
    expect(sent?.form.has('client_secret')).toBe(false);
  });

  it('is shown to pages by GET /v1/service', async () => {
    const { issuers } = JSON.parse((await go('/v1/service')).text);
    expect(issuers).toEqual([{ issuer: issuer.url, name: new URL(issuer.url).host }]);
  });

  it('counts once, by a state that the service has made', async () => {
    const toIssuer = await go('/v1/console/login');
    const callback = next(await go(next(toIssuer)));
    expect(next(await go(callback))).toMatch(/^\/console\/#code=/);
    const again = next(await go(callback));
    expect(again).toMatch(/^\/console\/#error=/);
    expect(faultIn(again)).toContain('This login does not count');
    const forged = await go('/v1/console/callback?state=mine&code=code-0');
    expect(faultIn(next(forged))).toContain('This login does not count');
    expect(forms).toHaveLength(1);
  });

  it.each([
    ['another client', (nonce: string) => ({ ...claims(nonce), aud: 'other' })],
    ['another login', () => claims('another nonce')],
    ['a client that is named beside', (n: string) => ({ ...claims(n), azp: 'other' })],
    [
      'several clients, of which none is named',
      (n: string) => ({ ...claims(n), aud: [clientId, 'b'] }),
    ],
    ['nobody any more', (n: string) => ({ ...claims(n), exp: seconds() - 3_600 })],
  ])('refuses a token for %s', async (_, made) => {
    const usual = claims;
    claims = (nonce) => {
      claims = usual;
      return made(nonce);
    };
    const page = await loggedIn();
    expect(faultIn(page)).toBe(
      `The login at ${issuer.url} failed; the log of the service says why`,
    );
  });

  it('takes a token for several clients that was made for this one', async () => {
    const usual = claims;
    claims = (nonce) => ({ ...usual(nonce), aud: [clientId, 'b'], azp: clientId });
    expect(await loggedIn()).toMatch(/#code=/);
  });

  it('refuses answers of another issuer, and what is no answer', async () => {
    const toIssuer = await go('/v1/console/login');
    const callback = next(await go(next(toIssuer)));
    const other = await go(`${callback}&iss=https%3A%2F%2Fother.example`);
    expect(faultIn(next(other))).toContain('another issuer');
    for (const answer of ['not JSON', '{}', 'null', '{"id_token":"x.y.z"}']) {
      fault = (response) => void response.end(answer);
      expect(faultIn(await loggedIn())).toContain('failed; the log');
    }
    fault = (response) => void response.writeHead(302, { location: issuer.url }).end();
    expect(faultIn(await loggedIn())).toContain('failed; the log');
  });

  it('says that the person, or the issuer, did not want it', async () => {
    const begin = async () => new URL(next(await go('/v1/console/login?return=/console/x')));
    const state = (await begin()).searchParams.get('state');
    const denied = await go(`/v1/console/callback?error=access_denied&state=${state}`);
    expect(next(denied)).toMatch(/^\/console\/x#error=/);
    expect(faultIn(next(denied))).toBe('The login was refused at the issuer');
    const script = '%3Cscript%3E';
    const hostile = await go(`/v1/console/callback?error=${script}&error_description=${script}`);
    expect(next(hostile)).toBe(
      `/console/#error=${encodeURIComponent('The issuer could not log you in')}`,
    );
  });

  it.each([
    'https://evil.example/console/',
    '//evil.example/console/',
    '/console/../v1/ping',
    '/console/%2e%2e/v1/ping',
    '/console',
    '/consoles/',
    '/\\evil.example/console/',
    '/console/\n',
    'console/',
    `/console/${'a'.repeat(3_000)}`,
  ])('leads back into the console alone, not to %j', async (back) => {
    const query = new URLSearchParams({ return: back });
    const { status, text } = await go(`/v1/console/login?${query}`);
    expect([status, text]).toEqual([400, expect.stringContaining('below `/console/`')]);
  });

  it('drops a fragment, and stays below the console', async () => {
    expect(await loggedIn('/console/db/shop#code=mine')).toMatch(
      /^\/console\/db\/shop#code=[\w-]{43}$/,
    );
    expect(await loggedIn('/console//evil.example/')).toMatch(
      /^\/console\/\/evil\.example\/#code=/,
    );
  });

  it('is at named issuers alone, and from this machine or by TLS', async () => {
    const other = await go('/v1/console/login?issuer=https%3A%2F%2Fother.example');
    expect(faultIn(next(other))).toBe('Nobody can log in at this issuer');
    const headers = { 'x-forwarded-for': '203.0.113.5' };
    for (const where of ['login', 'callback?state=x&code=y']) {
      expect((await running.ask('GET', `/v1/console/${where}`, { headers })).status).toBe(403);
    }
  });
});

describe('[http 17.5] logins of one network', () => {
  it('are counted apart from codes', async () => {
    const busy = await Running.start(configuration());
    const login = '/v1/console/login?issuer=https%3A%2F%2Fother.example';
    const statuses = new Set<number>();
    for (let count = 0; count <= 4 * limits.consoleSignInsAtOnce; count += 1) {
      statuses.add((await go(login, busy)).status);
      if (statuses.has(429)) break;
    }
    expect([...statuses]).toEqual([302, 429]);
    const as = await busy.person();
    expect((await busy.ask('POST', '/v1/console/codes', { as })).status).toBe(200);
    await busy.stop();
  });
});

describe('[http 17.7] where a service is asked by others', () => {
  it('its public address is the one to come back to', async () => {
    const publicUrl = 'https://db.example.com';
    const given = { console: 'on', trustedProxies: ['127.0.0.1'] } as const;
    const headers = { 'x-forwarded-for': '203.0.113.5', 'x-forwarded-proto': 'https' };
    const ask = async (from: Running) => {
      const answer = await fetch(`${from.service.url}/v1/console/login`, {
        headers,
        redirect: 'manual',
      });
      return {
        status: answer.status,
        to: answer.headers.get('location'),
        text: await answer.text(),
      };
    };
    const named = await Running.start(configuration({ ...given, publicUrl }));
    const to = new URL((await ask(named)).to ?? '');
    expect(to.searchParams.get('redirect_uri')).toBe(`${publicUrl}/v1/console/callback`);
    await named.stop();
    const nameless = await Running.start(configuration(given));
    expect(await ask(nameless)).toMatchObject({
      status: 400,
      text: expect.stringContaining('http.public-url'),
    });
    await nameless.stop();
  });

  it('nobody logs in without an issuer', async () => {
    const none = await Running.start();
    expect((await go('/v1/console/login', none)).text).toContain('auth.login-clients');
    await none.stop();
  });

  it.each([
    [{ loginSecrets: { 'https://a.example': 'x' }, loginClients: {} }, 'auth.login-secrets names'],
    [{ loginClients: { 'http://a.example': 'x' }, loginSecrets: {} }, 'is not an https address'],
    [{ loginClients: { 'not an address': 'x' }, loginSecrets: {} }, 'is not an https address'],
    [
      {
        loginClients: { 'https://a.example': 'x' },
        loginSecrets: {},
        issuers: { accepted: [{ issuer: 'https://a.example', audiences: ['y'] }] },
      },
      'add --accept-issuer https://a.example=x',
    ],
  ])('does not start with %j', async (given, text) => {
    await expect(Running.start(configuration(given))).rejects.toThrow(text);
  });
});
