import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { deriveIdentity } from '../../src/auth/identity.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { identityVectors } from '../support/identity-vectors.ts';
import { type IssuerSigner, LocalIssuer } from '../support/local-issuer.ts';
import { signToken } from '../support/sign-token.ts';
import { type Person, Running } from './running.ts';
import { SocketClient, V2Reader } from './socket-client.ts';
import { writtenFrom } from './written-module.ts';

/** Notes what its auth context says of everybody who comes in or calls. */
const reception = `
import { schema, t, table } from 'reducerdb/server';
const guest = table({ public: true }, {
  id: t.u64().primaryKey().autoInc(),
  what: t.string(),
  sender: t.string(),
  payload: t.string(),
  issuer: t.string(),
  subject: t.string(),
  audience: t.string(),
});
const db = schema({ guest });
export default db;
function note(ctx, what) {
  const { jwt, hasJWT, isInternal } = ctx.senderAuth;
  if (!hasJWT || isInternal || jwt === null || !jwt.identity.equals(ctx.sender)) return;
  ctx.db.guest.insert({
    id: 0n,
    what,
    sender: ctx.sender.toHexString(),
    payload: jwt.rawPayload,
    issuer: jwt.issuer,
    subject: jwt.subject,
    audience: jwt.audience.join(),
  });
}
export const onConnect = db.clientConnected((ctx) => note(ctx, 'came'));
export const sign = db.reducer((ctx) => note(ctx, 'signed'));
`;

let running: Running;
let issuer: LocalIssuer;
let owner: Person;
const signers = new Map<string, IssuerSigner>();
const algorithms = ['RS256', 'ES256', 'EdDSA'];

beforeAll(async () => {
  issuer = await LocalIssuer.start();
  for (const alg of algorithms) signers.set(alg, await issuer.addKey(alg, `key for ${alg}`));
  running = await Running.start();
  owner = await running.person();
  expect((await running.upload('desk', await writtenFrom(reception), owner)).status).toBe(200);
});
afterAll(async () => {
  await running.stop();
  issuer.stop();
});

const hex = (name: string, subject: string) => identityToHex(deriveIdentity(name, subject));
const payloadOf = (token: string) => Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();

interface Note {
  readonly what: string;
  readonly sender: string;
  readonly payload: string;
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
}

/** What the module noted last of the bearer of a token. */
async function noteOf(token: string): Promise<Note | undefined> {
  const payload = payloadOf(token).replaceAll("'", "''");
  const statement =
    'SELECT what, sender, payload, issuer, subject, audience FROM guest ' +
    `WHERE payload = '${payload}' ORDER BY id DESC LIMIT 1`;
  const [row] = await running.rows('desk', statement);
  if (row === undefined) return undefined;
  const [what, sender, seen, by, subject, audience] = row as string[];
  return { what, sender, payload: seen, issuer: by, subject, audience } as Note;
}

async function shortLived(token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const { text } = await running.ask('POST', '/v1/identity/websocket-token', { headers });
  return JSON.parse(text).token;
}

async function callByHttp(headers: Record<string, string>, query = ''): Promise<string> {
  const ofJson = { 'content-type': 'application/json' };
  const where = `/v1/database/desk/call/sign${query}`;
  const asked = { headers: { ...headers, ...ofJson }, body: '[]' };
  const answer = await running.ask('POST', where, asked);
  expect(answer).toMatchObject({ status: 200, text: '' });
  return answer.headers.get('spacetime-identity') ?? '';
}

async function greetBySocket(options: Parameters<typeof SocketClient.open>[2]): Promise<string> {
  const reader = new V2Reader(await SocketClient.open(running.service.url, 'desk', options));
  const { identity } = await reader.expect('initialConnection');
  await reader.client.close();
  return identityToHex(identity);
}

/** How a token gets through a door; gives whom the door took its bearer for. */
const doors: Readonly<Record<string, (token: string) => Promise<string>>> = {
  'the header of HTTP': (token) => callByHttp({ authorization: `Bearer ${token}` }),
  'the query of HTTP': (token) => callByHttp({}, `?token=${token}`),
  'the header of a WebSocket': (token) =>
    greetBySocket({ headers: { authorization: `Bearer ${token}` } }),
  'the query of a WebSocket': (token) => greetBySocket({ query: `token=${token}` }),
  MCP: async (token) => {
    const bearer = { identity: '', token };
    const text = await running.tool('desk', 'call', { reducer: 'sign' }, bearer);
    expect(text).toBe("reducer 'sign' committed");
    return (await noteOf(token))?.sender ?? '';
  },
};

describe.each(algorithms)('a token of another issuer, signed with %s', (alg) => {
  const sign = () =>
    signers.get(alg)?.({ sub: `ada ${alg}`, aud: ['app', 'us'], role: 'cook' }) ?? '';

  it.each(Object.entries(doors))(
    '[auth 6, interface 5.1, 5.2] gets through %s',
    async (door, present) => {
      const token = await sign();
      const caller = hex(issuer.url, `ada ${alg}`);
      expect(await present(token)).toBe(caller);
      expect(await noteOf(token)).toEqual({
        what: door.includes('WebSocket') ? 'came' : 'signed',
        sender: caller,
        payload: payloadOf(token),
        issuer: issuer.url,
        subject: `ada ${alg}`,
        audience: 'app,us',
      });
    },
  );

  it('[auth 2.2] is given again for a WebSocket, where the module sees the new one', async () => {
    const token = await sign();
    const again = await shortLived(token);
    const caller = hex(issuer.url, `ada ${alg}`);
    expect(await greetBySocket({ query: `token=${again}` })).toBe(caller);
    const { iat, ...claims } = JSON.parse(payloadOf(token));
    const renewed = JSON.parse(payloadOf(again));
    expect(renewed).toMatchObject({ ...claims, hex_identity: caller, exp: renewed.iat + 60 });
    expect(renewed.iat).toBeGreaterThan(iat);
    expect(await noteOf(again)).toMatchObject({ sender: caller, payload: payloadOf(again) });
  });
});

it('[auth 9] the payload reaches the module byte for byte', async () => {
  const subject = 'adä ユーザー 🦀';
  const payload =
    `{ "z" : 1.50e2,\n\t"iss":"${issuer.url}", "sub":"\\u0061d\\u00e4 ユーザー 🦀", "iat":1 ,` +
    `"big": 123456789012345678901234567890, "aud": "only", "esc": "\\/", "quote": "it's" }  `;
  const token = (await signers.get('ES256')?.text(payload)) ?? '';
  for (const present of Object.values(doors)) {
    expect(await present(token)).toBe(hex(issuer.url, subject));
    expect(await noteOf(token)).toMatchObject({ payload, subject, audience: 'only' });
  }
});

it.each(identityVectors)(
  '[auth 1.2] %s and %s are one identity at every door',
  async (iss, sub, identity) => {
    // Signed by the host, as a token that it gave again is: nobody else is asked.
    const token = signToken(running.privateKey(), { iss, sub, iat: 1 });
    for (const present of Object.values(doors)) expect(await present(token)).toBe(identity);
  },
);

describe('keys of an issuer that change while the service runs', () => {
  beforeEach(() => {
    // Time of the service, which is in this process; its timers run on.
    vi.useFakeTimers({ toFake: ['Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const later = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
  const asked = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, text } = await running.ask('GET', '/v1/ping', { headers });
    return status === 200 ? 'accepted' : text;
  };

  it('[auth 6] a new one is found, an old one ends, and the issuer may be away', async () => {
    const changing = await LocalIssuer.start();
    const first = await changing.addKey('ES256', 'first');
    expect(await asked(await first())).toBe('accepted');
    const second = await changing.addKey('RS256', 'second');
    later(31);
    expect(await asked(await second())).toBe('accepted');
    expect(await asked(await first({ sub: 'bob' }))).toBe('accepted');
    expect(changing.asked).toHaveLength(4);

    // Withdrawn: it ends with the next refresh, also for tokens that were accepted before.
    changing.keys = changing.keys.filter(({ kid }) => kid !== 'first');
    later(301);
    await asked(await second({ sub: 'bob' }));
    const gone = 'Specified key ID not found in JWKs';
    await expect.poll(async () => asked(await first({ sub: 'eve' }))).toBe(gone);
    expect(await asked(await first())).toBe(gone);

    changing.stop();
    later(301);
    expect(await asked(await second({ sub: 'eve' }))).toBe('accepted');
    expect(await asked(await second())).toBe('accepted');
  });
});
