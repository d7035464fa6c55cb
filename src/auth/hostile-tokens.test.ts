import { createHmac, generateKeyPairSync } from 'node:crypto';
import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type IssuerSigner, LocalIssuer } from '../../test/support/local-issuer.ts';
import { signToken, tokenPart } from '../../test/support/sign-token.ts';
import { readClaims } from './claims.ts';
import { HostTokens } from './host-tokens.ts';
import { deriveIdentity } from './identity.ts';
import { Issuers } from './issuers.ts';
import type { HostKeys } from './keys.ts';

/** The sender of these tokens tries to impersonate others. */
let issuer: LocalIssuer;
let sign: IssuerSigner;
let tokens: HostTokens;
let keys: HostKeys;

beforeEach(async () => {
  issuer = await LocalIssuer.start();
  sign = await issuer.addKey('ES256', 'one');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  keys = { privateKey, publicKey, publicPem, oldKeys: [] };
  const issuers = new Issuers({ allowsLoopback: true, allowsPrivate: false });
  tokens = new HostTokens(keys, { issuers });
});
afterEach(() => issuer.stop());

const outcome = (token: string) =>
  tokens.verify(token).then(
    ({ identity }) => identity,
    (error: Error) => error.message,
  );
const own = (claims: object | string) => signToken(keys.privateKey, claims);
const now = () => Math.floor(Date.now() / 1000);

describe('identities of others', () => {
  it('[auth 1.1] an issuer with a bar is nobody, for it could be anybody of another', async () => {
    const iss = `${issuer.url}|google`;
    expect(deriveIdentity(iss, 'ada')).toBe(deriveIdentity(issuer.url, 'google|ada'));
    issuer.stated = iss;
    issuer.pages.set(`/%7Cgoogle/.well-known/openid-configuration`, (_url, response) =>
      response.end(JSON.stringify({ issuer: iss, jwks_uri: `${issuer.url}/keys` })),
    );
    const path = `${issuer.url}/|google`;
    for (const one of [iss, path, `http://127.0.0.1|x@${new URL(issuer.url).host}`]) {
      expect(await outcome(await sign({ iss: one }))).toBe(
        `Issuer not accepted: "${one}": the URL of an issuer must not contain \`|\``,
      );
    }
    expect(issuer.asked).toEqual([]);
    // A bar in the subject is common and does not make identities collide.
    const subject = 'google-oauth2|1234';
    issuer.stated = issuer.url;
    expect(await outcome(await sign({ sub: subject }))).toBe(deriveIdentity(issuer.url, subject));
  });

  it('[auth 1.1] also where the operator has named it', async () => {
    const iss = `${issuer.url}/|a`;
    const accepted = [{ issuer: iss }];
    const issuers = new Issuers({ allowsLoopback: true, allowsPrivate: true, accepted });
    tokens = new HostTokens(keys, { issuers });
    expect(await outcome(await sign({ iss }))).toMatch(/^Issuer not accepted: /);
  });

  it.each([
    ['a query', '/?a=', /must not contain `\?`$/],
    ['a fragment', '/#', /must not contain `#`$/],
    ['a backslash', '\\x', /must not contain `\\`$/],
    ['a line', '\n', /must not contain a blank or control character$/],
    ['a blank at the end', ' ', /must not contain a blank or control character$/],
    ['a NUL', '\0', /must not contain a blank or control character$/],
  ])('[auth 6] an issuer whose name has %s is not asked', async (_what, end, text) => {
    expect(await outcome(await sign({ iss: `${issuer.url}${end}` }))).toMatch(text);
    expect(issuer.asked).toEqual([]);
  });

  it('[auth 6] nor one with a user', async () => {
    const iss = issuer.url.replace('//', '//ada:secret@');
    expect(await outcome(await sign({ iss }))).toMatch(/must not contain a user$/);
    expect(issuer.asked).toEqual([]);
  });

  it.each([
    ['letters in upper case', (text: string) => text.replace('http', 'HTTP')],
    ['other digits', (text: string) => text.replace('127', '①②⑦')],
    ['a number', (text: string) => text.replace('127.0.0.1', '2130706433')],
    ['slashes at the end', (text: string) => `${text}//`],
    ['a detour', (text: string) => `${text}/a/..`],
  ])('[auth 1.1] %s make another issuer, which must call itself so', async (_what, spelt) => {
    const iss = spelt(issuer.url);
    expect(await outcome(await sign({ iss }))).toMatch(/^Issuer mismatch|^Error fetching/);
    const before = deriveIdentity(issuer.url, 'ada');
    expect(deriveIdentity(iss, 'ada')).not.toBe(before);
    expect(await outcome(await sign())).toBe(before);
  });

  it.each([
    ['composed or not', 'é', 'e\u0301'],
    ['of another alphabet', 'ada', 'аda'],
    ['in upper case', 'ada', 'Ada'],
    ['with a blank', 'ada', 'ada '],
    ['with nothing to see', 'ada', 'ada\u200b'],
    ['with a NUL', 'ada', 'ada\0'],
  ])('[auth 1.1] subjects %s are two identities', async (_what, one, other) => {
    const [first, second] = [await sign({ sub: one }), await sign({ sub: other })];
    expect(await outcome(first)).toBe(deriveIdentity(issuer.url, one));
    expect(await outcome(second)).toBe(deriveIdentity(issuer.url, other));
    expect(await outcome(first)).not.toBe(await outcome(second));
  });

  it('[auth 4] nobody else issues tokens of this host', async () => {
    expect(await outcome(await sign({ iss: 'localhost' }))).toBe('Invalid token: InvalidSignature');
    expect(issuer.asked).toEqual([]);
  });
});

describe('headers', () => {
  it('[auth 4.2] a key that the token brings along is no key', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const addresses = { jku: `${issuer.url}/other`, x5u: `${issuer.url}/other` };
    const header = { alg: 'ES256', kid: 'one', jwk, x5c: ['AAAA'], ...addresses };
    const forged = await new CompactSign(
      Buffer.from(JSON.stringify({ iss: issuer.url, sub: 'ada', iat: 1 })),
    )
      .setProtectedHeader(header)
      .sign(privateKey);
    expect(await outcome(forged)).toBe('Invalid token: InvalidSignature');
    expect(issuer.asked).not.toContain('/other');
  });

  const claims = () => ({ iss: issuer.url, sub: 'ada', iat: 1 });
  const unsigned = (header: object | string, signature = 'A'.repeat(86)) =>
    `${tokenPart(header)}.${tokenPart(claims())}.${signature}`;

  it.each([
    ['no algorithm', { alg: 'none' }, /unknown variant/],
    ['no algorithm in capitals', { alg: 'NONE' }, /unknown variant/],
    ['first a good one, then none', '{"alg":"ES256","alg":"none"}', /unknown variant/],
    ['first none, then a good one', '{"alg":"none","alg":"ES256","kid":"one"}', /InvalidSignature/],
    ['an algorithm for objects', '{"__proto__":{"alg":"ES256"}}', /missing field `alg`/],
    ['a list', { alg: ['ES256'] }, /missing field `alg`/],
    ['a signature of zeros', { alg: 'ES256', kid: 'one' }, /InvalidSignature/],
    ['a key of objects', { alg: 'ES256', kid: '__proto__' }, /Specified key ID not found/],
    ['no name of a key', { alg: 'ES256', kid: '' }, /Specified key ID not found/],
    ['a list of keys', { alg: 'ES256', kid: ['one'] }, /`kid` is not a string/],
    ['a path of a key', { alg: 'ES256', kid: '../../etc/passwd' }, /Specified key ID not found/],
    ['what it says is critical', { alg: 'ES256', crit: ['b64'], b64: false }, /InvalidAlgorithm/],
    ['nothing that is critical', { alg: 'ES256', crit: [] }, /InvalidAlgorithm/],
    ['critical null', { alg: 'ES256', crit: null }, /InvalidAlgorithm/],
  ])('[auth 4.2] with %s', async (_what, header, text) => {
    expect(await outcome(unsigned(header))).toMatch(text);
  });

  it('[auth 4.2] a payload that is not encoded is none, whatever the header says', async () => {
    const header = { typ: 'JWT', alg: 'ES256', b64: false };
    const body = { iss: 'localhost', sub: 'ada', iat: 1 };
    const plain = signToken(keys.privateKey, body, header);
    expect(await outcome(plain)).toBe(deriveIdentity('localhost', 'ada'));
    const [head = '', , signature = ''] = plain.split('.');
    expect(await outcome(`${head}.${JSON.stringify(body)}.${signature}`)).toMatch(/Base64 error/);
  });

  it('[auth 4.2] a public key is no secret', async () => {
    await tokens.verify(await sign());
    for (const secret of [keys.publicPem, JSON.stringify(issuer.keys[0])]) {
      const body = `${tokenPart({ alg: 'HS256', kid: 'one' })}.${tokenPart(claims())}`;
      const mac = createHmac('sha256', secret).update(body).digest('base64url');
      expect(await outcome(`${body}.${mac}`)).toBe('Invalid token: InvalidAlgorithm');
    }
  });
});

describe('claims', () => {
  it('[auth 4.1] a token ends 60 s after its end, and not a second later', () => {
    const at = (exp: unknown) =>
      readClaims(JSON.stringify({ iss: 'i', sub: 's', iat: 1, exp }), 1e6);
    expect(at(1e6 - 60).expiresAt).toBe(1e6 - 60);
    expect(() => at(1e6 - 61)).toThrow('Invalid token: ExpiredSignature');
    expect(() => at(0)).toThrow('Invalid token: ExpiredSignature');
    expect(at(null).expiresAt).toBeUndefined();
  });

  it.each(['1.5', '-1', '"9999999999"', '1e400', '1e300', '9007199254740993', 'true', '[]', '{}'])(
    '[auth 4.1] %s is no time',
    async (time) => {
      const text = (name: string) =>
        new RegExp(`^Invalid token: JSON error: \`${name}\` is not a whole number of seconds$`);
      const more = `"iss":"localhost","sub":"ada"`;
      expect(await outcome(own(`{${more},"iat":1,"exp":${time}}`))).toMatch(text('exp'));
      expect(await outcome(own(`{${more},"iat":${time}}`))).toMatch(text('iat'));
    },
  );

  it('[auth 4.1] `nbf` counts for nothing, whatever it is', async () => {
    for (const nbf of [now() + 3600, 'soon', null]) {
      const token = own({ iss: 'localhost', sub: 'ada', iat: now(), nbf });
      expect(await outcome(token)).toBe(deriveIdentity('localhost', 'ada'));
    }
  });

  it('[auth 9] of a claim that is there twice the last counts, as for the module', async () => {
    const payload = '{"iss":"localhost","sub":"ada","sub":"eve","iat":1,"s\\u0075b":"bob"}';
    const { identity, payload: shown } = await tokens.verify(own(payload));
    expect(identity).toBe(deriveIdentity('localhost', JSON.parse(shown).sub));
    expect(identity).toBe(deriveIdentity('localhost', 'bob'));
  });

  it('[auth 4.1] claims of objects are claims of nobody', async () => {
    const payload = '{"__proto__":{"iss":"localhost","sub":"ada"},"iat":1}';
    expect(await outcome(own(payload))).toBe('Invalid token: Missing required claim: iss');
  });

  it('[auth 4.1] names are counted in bytes, not in characters', async () => {
    const fits = 'é'.repeat(64);
    expect(await outcome(own({ iss: 'localhost', sub: fits, iat: 1 }))).toBe(
      deriveIdentity('localhost', fits),
    );
    const long = `${fits}a`;
    const text = `Subject too long: "${long}"`;
    expect(await outcome(own({ iss: 'localhost', sub: long, iat: 1 }))).toBe(text);
  });

  it('[auth 4.1] another identity cannot be stated, nor limits', async () => {
    const victim = deriveIdentity(issuer.url, 'victim').toString(16);
    expect(await outcome(await sign({ hex_identity: victim }))).toMatch(/^Identity mismatch/);
    const token = await sign({ reducerdb: { instead_of: 'x' }, jti: 'x' });
    const claims = await tokens.verify(token);
    expect(claims.tokenId).toMatch(/^signed:/);
    const again = await tokens.verify((await tokens.reissue(claims, 60)).token);
    expect([again.tokenId, again.identity]).toEqual([claims.tokenId, claims.identity]);
  });
});
