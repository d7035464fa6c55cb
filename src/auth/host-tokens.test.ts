import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signToken, tokenPart } from '../../test/support/sign-token.ts';
import { identityToHex } from '../values/identity.ts';
import { callerIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { settleCaller } from './caller.ts';
import { HostTokens } from './host-tokens.ts';
import { deriveIdentity } from './identity.ts';
import { type HostKeys, keyFilesIn, loadKeys } from './keys.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-auth-'));
const files = keyFilesIn(path.join(folder, 'keys'));
let keys: HostKeys;
let tokens: HostTokens;

const write = async (file: string, text: string, mode: number) =>
  writeFileSync(file, text, { mode });

beforeAll(async () => {
  keys = await loadKeys(files, write);
  tokens = new HostTokens(keys);
});
afterAll(() => rmSync(folder, { recursive: true }));

const now = () => Math.floor(Date.now() / 1000);

/** Signs any claims with the host key. */
function signed(claims: object, header?: object): string {
  return signToken(keys.privateKey, claims, header);
}

const claims = (more: object = {}) => ({ iss: 'localhost', sub: 'someone', iat: now(), ...more });

async function refusal(token: string): Promise<string> {
  return tokens.verify(token).then(
    () => 'accepted',
    (error: Error) => error.message,
  );
}

describe('host tokens', () => {
  it('[auth 2.1] have the exact header and the claims in order', async () => {
    const { token, identity } = await tokens.issue();
    const [header, payload, signature] = token.split('.') as [string, string, string];
    expect(header).toBe('eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9');
    const text = Buffer.from(payload, 'base64url').toString();
    const read = JSON.parse(text);
    expect(Object.keys(read)).toEqual(['hex_identity', 'sub', 'iss', 'aud', 'iat', 'exp']);
    expect(read).toMatchObject({ iss: 'localhost', aud: ['spacetimedb'], exp: null });
    expect(read.hex_identity).toBe(identityToHex(identity));
    expect(Buffer.from(signature, 'base64url')).toHaveLength(64);
  });

  it('[auth 4] are accepted again, with the payload byte for byte', async () => {
    const { token, identity, payload } = await tokens.issue();
    expect(await tokens.verify(token)).toMatchObject({ identity, payload });
    expect(await tokens.verify(token)).toMatchObject({ identity, payload });
  });

  it('[auth 2.2] can be issued again with an end', async () => {
    const first = await tokens.verify((await tokens.issue()).token);
    const again = await tokens.verify((await tokens.reissue(first, 60)).token);
    expect(again.identity).toBe(first.identity);
    expect(again.expiresAt).toBe(again.issuedAt + 60);
    expect(again.tokenId).toBe(first.tokenId);
  });

  it('[auth 2.2] are remembered, but not those that stand in for one connection', async () => {
    const { token } = await tokens.issue();
    const first = await tokens.verify(token);
    expect(await tokens.verify(token)).toBe(first);
    const standIn = (await tokens.reissue(first, 60)).token;
    expect(await tokens.verify(standIn)).not.toBe(await tokens.verify(standIn));
  });

  it('[auth 2.2] end with the token that they stand for, and are revoked with it', async () => {
    const exp = now() + 20;
    const first = await tokens.verify(signed(claims({ exp })));
    const second = await tokens.verify((await tokens.reissue(first, 60)).token);
    const third = await tokens.verify((await tokens.reissue(second, 60)).token);
    for (const { expiresAt, tokenId } of [second, third]) {
      expect([expiresAt, tokenId]).toEqual([exp, first.tokenId]);
    }
  });

  it('[auth 2.1] expire where the operator wants that, limited ones no later', async () => {
    const short = new HostTokens(keys, { lifeSeconds: 60 });
    const { issuedAt, expiresAt } = await short.verify((await short.issue()).token);
    expect(expiresAt).toBe(issuedAt + 60);
    const capability = {
      database: databaseIdentity(1n),
      by: callerIdentity(2n),
      readOnly: false,
      sqlWrites: false,
    };
    for (const [seconds, life] of [
      [undefined, 60],
      [3600, 60],
      [30, 30],
    ] as const) {
      const limited = await short.verify((await short.issueLimited(capability, seconds)).token);
      expect(limited.expiresAt).toBe(limited.issuedAt + life);
    }
  });

  it('[http 17.6] of sessions are the caller, with claims and an end of their own', async () => {
    const exp = now() + 90;
    const first = await tokens.verify(signed(claims({ exp, role: 'cook', jti: 'theirs' })));
    const begin = (seconds: number, endsWithOriginal: boolean) =>
      tokens.issueSession(first, { seconds, endsWithOriginal });
    const session = await tokens.verify((await begin(3_600, true)).token);
    expect([session.identity, session.expiresAt]).toEqual([first.identity, exp]);
    expect(session.session).toEqual({ of: first.tokenId, expiresAt: exp });
    expect(JSON.parse(session.payload)).toMatchObject({ role: 'cook', sub: 'someone' });
    expect(session.tokenId).not.toBe('theirs');
    expect((await begin(3_600, false)).expiresAt).toBeGreaterThan(exp + 3_000);
    expect((await begin(30, true)).expiresAt).toBeLessThanOrEqual(now() + 30);
    const standIn = await tokens.verify((await tokens.reissue(session, 10)).token);
    expect([standIn.isStandIn, standIn.session]).toEqual([true, session.session]);
  });

  it('[http 17.6] of sessions end with either of two ids', async () => {
    const revoked = new Set<string>();
    const host = new HostTokens(keys, { isRevoked: (id) => revoked.has(id) });
    const first = await host.verify((await host.issue()).token);
    const terms = { seconds: 60, endsWithOriginal: true };
    const { token, tokenId } = await host.issueSession(first, terms);
    await host.verify(token);
    revoked.add(first.tokenId);
    await expect(host.verify(token)).rejects.toThrow('Invalid token: Revoked');
    await expect(host.issueSession(first, terms)).rejects.toThrow('Invalid token: Revoked');
    expect(() => host.requireStanding(first)).toThrow('Invalid token: Revoked');
    revoked.clear();
    expect(() => host.requireStanding(first)).not.toThrow();
    revoked.add(tokenId);
    await expect(host.verify(token)).rejects.toThrow('Invalid token: Revoked');
    await host.issueSession(first, terms);
  });

  it('[http 17.6] of sessions cannot be stated by others', async () => {
    for (const session of [7, {}, { of: 'x' }, { of: 'x', until: 'soon' }]) {
      const text = await refusal(signed(claims({ jti: 'x', reducerdb: { session } })));
      expect(text).toBe('Invalid token: JSON error: `reducerdb` has no session as `session`');
    }
  });

  it('[auth 12] of another issuer are accepted when this host signed them', async () => {
    const other = await tokens.verify(signed(claims({ iss: 'https://other' })));
    expect(other.identity).toBe(deriveIdentity('https://other', 'someone'));
  });

  it('[auth 12] may have expired 30 seconds ago, not 61', async () => {
    expect(await refusal(signed(claims({ exp: now() - 30 })))).toBe('accepted');
    const expired = await refusal(signed(claims({ exp: now() - 62 })));
    expect(expired).toBe('Invalid token: ExpiredSignature');
  });

  it.each([['a'], [['a', 'b']], [undefined]])('[auth 12] may name the audience %j', async (aud) => {
    expect(await refusal(signed(claims({ aud })))).toBe('accepted');
  });
});

describe('bad tokens', () => {
  const flip = (token: string) =>
    token.slice(0, -3) + (token.at(-3) === 'A' ? 'B' : 'A') + token.slice(-2);

  it('[auth 4.3] that are not three parts', async () => {
    expect(await refusal('x')).toBe('Invalid token: InvalidToken');
    expect(await refusal('a.b.c.d')).toBe('Invalid token: InvalidToken');
  });

  it('[auth 4.3] that are not base64url, or no JSON', async () => {
    expect(await refusal('é.b.c')).toMatch(/^Invalid token: Base64 error: /);
    expect(await refusal('e30.e30.A')).toMatch(/^Invalid token: Base64 error: /);
    expect(await refusal('AAAA.e30.AAAA')).toMatch(/^Invalid token: JSON error: /);
    expect(await refusal('gICA.e30.AAAA')).toBe('Invalid token: JSON error: not UTF-8');
    expect(await refusal(`${tokenPart([])}.e30.AAAA`)).toMatch(/^Invalid token: JSON error: /);
  });

  it('[auth 4.3] whose signature is wrong', async () => {
    expect(await refusal(flip(signed(claims())))).toBe('Invalid token: InvalidSignature');
  });

  it('[auth 4.3] of an issuer that this host does not know', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const body = `${tokenPart({ alg: 'RS256' })}.${tokenPart(claims({ iss: 'https://other' }))}`;
    const signature = createSign('SHA256').update(body).sign(privateKey).toString('base64url');
    const text = await refusal(`${body}.${signature}`);
    expect(text).toBe('Error fetching public key for issuer https://other');
  });

  it('[auth 4.2] that use the public key as a shared secret', async () => {
    const body = `${tokenPart({ alg: 'HS256' })}.${tokenPart(claims())}`;
    const signature = createHmac('sha256', keys.publicPem).update(body).digest('base64url');
    expect(await refusal(`${body}.${signature}`)).toBe('Invalid token: InvalidAlgorithm');
    expect(await refusal(`${tokenPart({ alg: 'none' })}.${tokenPart(claims())}.`)).toMatch(
      /^Invalid token: JSON error: unknown variant/,
    );
  });

  it('[auth 4.2] that demand an unknown extension', async () => {
    const token = signed(claims(), { alg: 'ES256', crit: ['x'], x: 1 });
    expect(await refusal(token)).toBe('Invalid token: InvalidAlgorithm');
  });

  it.each([
    [{ sub: undefined }, 'Invalid token: Missing required claim: sub'],
    [{ iss: 7 }, 'Invalid token: Missing required claim: iss'],
    [{ iat: undefined }, 'Invalid token: JSON error: missing field `iat`'],
    [{ iss: '' }, 'Issuer empty'],
    [{ sub: '' }, 'Subject empty'],
    [{ sub: 'half \ud800' }, 'Invalid token: JSON error: `sub` holds half a character'],
    [{ sub: 'x'.repeat(129) }, `Subject too long: "${'x'.repeat(129)}"`],
    [{ iss: 'é'.repeat(65) }, `Issuer too long: "${'é'.repeat(65)}"`],
  ])('[auth 4.1] with the claims %j', async (more, text) => {
    expect(await refusal(signed(claims(more)))).toBe(text);
  });

  it('[auth 4.1] whose stated identity is not the derived one', async () => {
    const text = await refusal(signed(claims({ hex_identity: '0'.repeat(64) })));
    expect(text).toMatch(/^Identity mismatch: token identity Identity\(0{64}\) does not match/);
  });
});

describe('the caller of a request', () => {
  const settle = (authorization?: string, queryToken?: string) =>
    settleCaller(tokens, { authorization, queryToken, withoutToken: 'anonymous' });

  it('[auth 7] is a new identity each time when there is no token', async () => {
    const [one, two] = [await settle(), await settle()];
    if (one.kind !== 'accepted' || two.kind !== 'accepted') throw new Error('refused');
    expect(one.caller.isAnonymous).toBe(true);
    expect(one.caller.identity).not.toBe(two.caller.identity);
    expect(await settle(`Bearer ${one.caller.token}`)).toMatchObject({
      caller: { identity: one.caller.identity, isAnonymous: false },
    });
  });

  it.each(['Basic eA==', 'Bearer', 'Bearer   ', 'x'])(
    '[auth 12] is refused for %j',
    async (header) => {
      expect(await settle(header)).toEqual({
        kind: 'refused',
        status: 400,
        text: 'Authorization is invalid: malformed token',
      });
    },
  );

  it('[auth 12] is read from the header before the query, in any case, past blanks', async () => {
    const { token } = await tokens.issue();
    expect(await settle(`bearer   ${token}`, 'nonsense')).toMatchObject({ kind: 'accepted' });
    expect(await settle(undefined, token)).toMatchObject({ kind: 'accepted' });
    expect(await settle('bearer x', token)).toMatchObject({ status: 401 });
  });

  it('[http 2.4] must have a token where one is required', async () => {
    const outcome = await settleCaller(tokens, {
      authorization: undefined,
      queryToken: undefined,
      withoutToken: 'refuse',
    });
    expect(outcome).toEqual({ kind: 'refused', status: 401, text: 'Authorization required' });
  });
});
