import { createHmac, createPublicKey, createSign, generateKeyPairSync } from 'node:crypto';
import { exportJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveIdentity } from '../../src/auth/identity.ts';
import { keyFilesOf } from '../../src/service/configuration.ts';
import { retireKeys, rotateKeysIn } from '../../src/service/key-folder.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { LocalIssuer } from '../support/local-issuer.ts';
import { signToken, tokenPart } from '../support/sign-token.ts';
import { Running } from './running.ts';
import { presentEverywhere } from './token-doors.ts';

/** Accepts every issuer that it may ask, loopback ones among them. */
let open: Running;
/** Accepts one issuer, for one audience. */
let strict: Running;
/** Asks public addresses alone. */
let closed: Running;
/** Whose tokens are right but for one thing; it is never asked amiss. */
let issuer: LocalIssuer;
const issuers: LocalIssuer[] = [];

beforeAll(async () => {
  issuer = await newIssuer();
  open = await Running.start();
  const accepted = [{ issuer: issuer.url, audiences: ['us'] }];
  strict = await Running.start({
    issuers: { accepted, allowsLoopback: true, allowsPrivate: false },
  });
  closed = await Running.start({ issuers: { allowsLoopback: false, allowsPrivate: false } });
  for (const running of [open, strict, closed]) {
    await running.publish('inn', 'inn', await running.person());
  }
});
afterAll(async () => {
  for (const running of [open, strict, closed]) await running.stop();
  for (const one of issuers) one.stop();
});

async function newIssuer(): Promise<LocalIssuer> {
  const made = await LocalIssuer.start();
  issuers.push(made);
  return made;
}

const now = () => Math.floor(Date.now() / 1000);
const claims = (more: object = {}) => ({ iss: 'localhost', sub: 'me', iat: now(), ...more });
/** Signed with the key of the service, whatever it claims. */
const ofHost = (more: object = {}, header?: object | string) =>
  signToken(open.privateKey(), claims(more), header);
const unsigned = (header: object, more: object = {}) =>
  `${tokenPart(header)}.${tokenPart(claims(more))}.AAAA`;

/** A token of an issuer of its own, whose documents `spoil` changes. */
async function ofSpoilt(spoil: (made: LocalIssuer) => void): Promise<string> {
  const made = await newIssuer();
  const sign = await made.addKey('ES256', 'one');
  spoil(made);
  return sign();
}

const answering = (faults: LocalIssuer['faults']) => () =>
  ofSpoilt((made) => {
    made.faults = faults;
  });
const discovery = 'openid-configuration';
const redirectTo = (location: string) =>
  answering({ [discovery]: { status: 302, headers: { location } } });
const keysAt = (jwks_uri: unknown) =>
  answering({ [discovery]: { status: 200, body: JSON.stringify({ jwks_uri }) } });

/** A shared-secret token whose secret is a public key. */
function sharedSecret(secret: string, more: object): string {
  const body = `${tokenPart({ alg: 'HS256', kid: 'one' })}.${tokenPart(claims(more))}`;
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
}

/** Of an issuer whose set has this key, signed with its other half. */
async function withKey(type: 'rsa' | 'ec', size: number | string, alg: string): Promise<string> {
  const made = await newIssuer();
  const { publicKey, privateKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: Number(size) })
      : generateKeyPairSync('ec', { namedCurve: String(size) });
  made.keys.push({ ...(await exportJWK(publicKey)), kid: 'one' });
  const body = `${tokenPart({ alg, kid: 'one' })}.${tokenPart(claims({ iss: made.url }))}`;
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return `${body}.${createSign('SHA256').update(body).sign(key).toString('base64url')}`;
}

async function givenUp(): Promise<string> {
  const { token } = await open.person();
  const headers = { authorization: `Bearer ${token}` };
  expect((await open.ask('POST', '/v1/identity/revoke', { headers })).status).toBe(200);
  return token;
}

async function signedAgainBeforeItWasGivenUp(): Promise<string> {
  const { token } = await open.person();
  const headers = { authorization: `Bearer ${token}` };
  const answer = await open.ask('POST', '/v1/identity/websocket-token', { headers });
  await open.ask('POST', '/v1/identity/revoke', { headers });
  return JSON.parse(answer.text).token;
}

async function ofRetiredKey(): Promise<string> {
  const { token } = await open.person();
  const files = keyFilesOf({ keyFiles: undefined, keyDirectory: `${open.folder}/keys` });
  await rotateKeysIn(files);
  await retireKeys(files, () => true);
  await open.service.reloadKeys();
  return token;
}

async function ofAnotherCluster(): Promise<string> {
  return (await strict.person()).token;
}

const long = 'é'.repeat(65);
const invalid = (what: string) => `Invalid token: ${what}`;
const json = (detail: string) => `Invalid token: JSON error: ${detail}`;
const unreachable = /^Error fetching public key for issuer /;
const noKey = 'Specified key ID not found in JWKs';
const badBase64 = /^Invalid token: Base64 error: /;
const badJson = /^Invalid token: JSON error: /;

type Kind = readonly [what: string, text: string | RegExp, make: () => string | Promise<string>];

/** What is presented, what the answer says, and how it is made. */
const shapes: readonly Kind[] = [
  ['one part', invalid('InvalidToken'), () => 'x'],
  ['two parts', invalid('InvalidToken'), () => 'e30.e30'],
  ['four parts', invalid('InvalidToken'), () => 'e30.e30.AA.AA'],
  ['a header that is no base64url', badBase64, () => '!!!!.e30.AAAA'],
  ['padding', badBase64, () => `${tokenPart({ alg: 'ES256' })}.e30.AAA=`],
  ['a length that no bytes have', badBase64, () => 'e30.e30.A'],
  ['a last character with bits to spare', badBase64, () => `${tokenPart({})}.e30.AB`],
  ['a header that is no JSON', badJson, () => ofHost({}, '{alg}')],
  ['a header that is an array', badJson, () => ofHost({}, '["ES256"]')],
  ['a payload that is no JSON', badJson, () => signToken(open.privateKey(), '{"iss"')],
  ['a payload that is a text', badJson, () => signToken(open.privateKey(), '"localhost"')],
  [
    'a payload that is not UTF-8',
    json('not UTF-8'),
    () => `${tokenPart({ alg: 'ES256' })}.gICA.AAAA`,
  ],
  ['no algorithm', json('missing field `alg`'), () => ofHost({}, {})],
  ['an unknown algorithm', json('unknown variant `XX256`'), () => unsigned({ alg: 'XX256' })],
  ['no signature, said', json('unknown variant `none`'), () => unsigned({ alg: 'none' })],
  [
    'no signature, said in capitals',
    json('unknown variant `NONE`'),
    () => unsigned({ alg: 'NONE' }),
  ],
  [
    'a kid that is a number',
    json('`kid` is not a string'),
    () => ofHost({}, { alg: 'ES256', kid: 1 }),
  ],
];

const signatures: readonly Kind[] = [
  ['no signature', invalid('InvalidSignature'), () => ofHost().replace(/[^.]*$/, '')],
  [
    'a payload changed later',
    invalid('InvalidSignature'),
    () => {
      const [header, , signature] = ofHost().split('.');
      return `${header}.${tokenPart(claims({ sub: 'root' }))}.${signature}`;
    },
  ],
  [
    'a signature in DER',
    invalid('InvalidSignature'),
    () => {
      const body = ofHost().replace(/\.[^.]*$/, '');
      const signature = createSign('SHA256').update(body).sign(open.privateKey());
      return `${body}.${signature.toString('base64url')}`;
    },
  ],
  [
    'the public key of the host as a secret',
    invalid('InvalidAlgorithm'),
    () => sharedSecret(open.service.tokens.publicPem, {}),
  ],
  [
    'the public key of the issuer as a secret',
    invalid('InvalidAlgorithm'),
    async () => {
      await issuer.addKey('RS256', 'one');
      const key = createPublicKey({ key: issuer.keys[0] ?? {}, format: 'jwk' });
      const pem = key.export({ type: 'spki', format: 'pem' }).toString();
      return sharedSecret(pem, { iss: issuer.url });
    },
  ],
  [
    'an algorithm for no key of ours',
    invalid('InvalidAlgorithm'),
    () => unsigned({ alg: 'RS256' }),
  ],
  [
    'an algorithm that is never accepted',
    invalid('InvalidAlgorithm'),
    () => unsigned({ alg: 'ES512' }, { iss: issuer.url }),
  ],
  [
    'an extension that must be understood',
    invalid('InvalidAlgorithm'),
    () => ofHost({}, { alg: 'ES256', crit: ['b64'], b64: false }),
  ],
  ['another cluster', invalid('InvalidSignature'), ofAnotherCluster],
  ['a retired key', invalid('InvalidSignature'), ofRetiredKey],
  ['a token that was given up', invalid('Revoked'), givenUp],
  ['one signed again from it', invalid('Revoked'), signedAgainBeforeItWasGivenUp],
];

const claimed: readonly Kind[] = [
  ['an end 62 seconds ago', invalid('ExpiredSignature'), () => ofHost({ exp: now() - 62 })],
  [
    'an end long ago, of another issuer',
    invalid('ExpiredSignature'),
    () => unsigned({ alg: 'ES256' }, { iss: issuer.url, exp: 1_700_000_000 }),
  ],
  ['an end that is a text', badJson, () => ofHost({ exp: 'never' })],
  ['an end between two seconds', badJson, () => ofHost({ exp: 4_000_000_000.5 })],
  ['no time of issue', json('missing field `iat`'), () => ofHost({ iat: undefined })],
  ['a time of issue that is a text', badJson, () => ofHost({ iat: '2026-11-21' })],
  ['a time of issue before time began', badJson, () => ofHost({ iat: -1 })],
  ['no subject', invalid('Missing required claim: sub'), () => ofHost({ sub: undefined })],
  ['a subject that is a number', invalid('Missing required claim: sub'), () => ofHost({ sub: 7 })],
  ['an empty subject', 'Subject empty', () => ofHost({ sub: '' })],
  ['a subject of 130 bytes', `Subject too long: "${long}"`, () => ofHost({ sub: long })],
  ['half a character', json('`sub` holds half a character'), () => ofHost({ sub: 'x\ud800' })],
  ['no issuer', invalid('Missing required claim: iss'), () => ofHost({ iss: undefined })],
  ['an issuer that is null', invalid('Missing required claim: iss'), () => ofHost({ iss: null })],
  ['an empty issuer', 'Issuer empty', () => ofHost({ iss: '' })],
  ['an issuer of 130 bytes', `Issuer too long: "${long}"`, () => ofHost({ iss: long })],
  [
    'the identity of somebody else',
    `Identity mismatch: token identity Identity(${'0'.repeat(64)}) does ` +
      `not match computed identity Identity(${identityToHex(deriveIdentity('localhost', 'me'))})`,
    () => ofHost({ hex_identity: '0'.repeat(64) }),
  ],
  ['an identity with 0x', badJson, () => ofHost({ hex_identity: `0x${'0'.repeat(64)}` })],
  ['limits that are none', badJson, () => ofHost({ reducerdb: 'everything' })],
  ['limits without an id', badJson, () => ofHost({ reducerdb: { database: '00' } })],
];

const keySets: readonly Kind[] = [
  [
    'a key that the issuer does not have',
    noKey,
    async () => (await issuer.addKey('ES256', 'two'))({}, { kid: 'three' }),
  ],
  [
    'another key of the same name',
    invalid('InvalidSignature'),
    async () => {
      const made = await newIssuer();
      const sign = await made.addKey('ES256', 'one');
      made.keys = [];
      await made.addKey('ES256', 'one');
      return sign();
    },
  ],
  [
    'an algorithm that does not fit the key',
    invalid('InvalidAlgorithm'),
    async () => {
      const made = await newIssuer();
      await made.addKey('ES256', 'one');
      return (await made.addKey('RS256', 'two'))({}, { kid: 'one' });
    },
  ],
  [
    'an algorithm that the key is not for',
    invalid('InvalidAlgorithm'),
    async () => (await (await newIssuer()).addKey('PS256', 'one', { alg: 'RS256' }))(),
  ],
  ['an RSA key of 1024 bits', noKey, () => withKey('rsa', 1024, 'RS256')],
  ['an EC key of a curve for nothing', noKey, () => withKey('ec', 'secp521r1', 'ES256')],
  [
    'an EC key of another curve',
    invalid('InvalidAlgorithm'),
    () => withKey('ec', 'secp384r1', 'ES256'),
  ],
  [
    'a key for encryption',
    noKey,
    async () => (await (await newIssuer()).addKey('ES256', 'one', { use: 'enc' }))(),
  ],
  [
    'a key that verifies nothing',
    noKey,
    async () => (await (await newIssuer()).addKey('ES256', 'one', { key_ops: ['encrypt'] }))(),
  ],
  [
    'a set with a key without kid',
    unreachable,
    () =>
      ofSpoilt(({ keys }) => {
        keys.push({ kty: 'OKP', crv: 'Ed25519', x: 'AAAA' });
      }),
  ],
  ['a set without keys', unreachable, answering({ keys: { status: 200, body: '{}' } })],
  ['a set that is not there', unreachable, answering({ keys: { status: 500 } })],
];

const documents: readonly Kind[] = [
  ['an issuer that says 404', unreachable, answering({ [discovery]: { status: 404 } })],
  ['an issuer that says 500', unreachable, answering({ [discovery]: { status: 500 } })],
  [
    'an issuer that answers no JSON',
    unreachable,
    answering({ [discovery]: { status: 200, body: '<html>' } }),
  ],
  [
    'an issuer that answers 1 MiB and more',
    unreachable,
    answering({ [discovery]: { status: 200, body: `"${'x'.repeat(1_048_576)}"` } }),
  ],
  ['an issuer that does not answer', unreachable, answering({ '': 'silence' })],
  ['an issuer that has no keys', unreachable, keysAt(undefined)],
  [
    'another issuer in the document',
    /^Issuer mismatch: got "https:\/\/x", expected "http:\/\/127/,
    () =>
      ofSpoilt((made) => {
        made.stated = 'https://x';
      }),
  ],
  ['a redirect to another scheme', unreachable, redirectTo('https://127.0.0.1/')],
  ['a redirect to a file', unreachable, redirectTo('file:///etc/passwd')],
  ['a redirect without end', unreachable, redirectTo('/.well-known/openid-configuration')],
  ['a redirect to a private address', unreachable, redirectTo('http://169.254.169.254/')],
  ['keys at a private address', unreachable, keysAt('https://10.0.0.1/keys')],
  ['keys in a file', unreachable, keysAt('file:///etc/passwd')],
  [
    'an issuer that is no address',
    unreachable,
    () => unsigned({ alg: 'ES256' }, { iss: 'example' }),
  ],
  [
    'an issuer of another scheme',
    unreachable,
    () => unsigned({ alg: 'ES256' }, { iss: 'ftp://x' }),
  ],
  [
    'an issuer at a private address',
    unreachable,
    () => unsigned({ alg: 'ES256' }, { iss: 'https://192.168.0.1' }),
  ],
  [
    'an issuer where clouds keep secrets',
    unreachable,
    () => unsigned({ alg: 'ES256' }, { iss: 'http://169.254.169.254' }),
  ],
  [
    'an issuer at a hidden private address',
    unreachable,
    () => unsigned({ alg: 'ES256' }, { iss: 'https://[::ffff:10.0.0.1]' }),
  ],
];

const expectRefused = async (running: Running, [, text, make]: Kind) => {
  const token = await make();
  const answers = await presentEverywhere(running, 'inn', token);
  expect(answers).toHaveLength(7);
  for (const answer of answers) {
    expect(answer).toEqual({
      door: answer.door,
      status: 401,
      text: typeof text === 'string' ? text : expect.stringMatching(text),
      contentType: 'text/plain; charset=utf-8',
      caller: null,
    });
  }
};

const everywhere = [...shapes, ...signatures, ...claimed, ...keySets, ...documents];

describe('a token that is refused at every door', () => {
  it('[auth 4.3] has something wrong with it, in one of at least thirty ways', () => {
    const kinds = new Set(everywhere.map(([what]) => what));
    expect(kinds.size).toBe(everywhere.length);
    expect(kinds.size).toBeGreaterThanOrEqual(30);
  });

  it.each(everywhere)(
    '[auth 4.3] %s',
    async (...kind) => {
      await expectRefused(open, kind);
    },
    20_000,
  );

  it('[auth 6] comes from an issuer that this host does not accept, who is not asked', async () => {
    const other = await newIssuer();
    const sign = await other.addKey('ES256', 'one');
    await expectRefused(strict, [
      '',
      `Issuer not accepted: "${other.url}"`,
      () => sign({ aud: 'us' }),
    ]);
    expect(other.asked).toEqual([]);
  });

  it.each([['them'], [undefined], [['them', 'others']]])(
    '[auth 6] is for the audience %j',
    async (aud) => {
      const sign = await issuer.addKey('ES256', `for ${aud}`);
      const text =
        /^Audience not accepted: tokens of "http:\/\/127\.0\.0\.1:\d+" must be made for this host$/;
      await expectRefused(strict, ['', text, () => sign({ aud })]);
    },
  );

  it('[auth 6] comes from loopback, where others can connect, who is not asked', async () => {
    const sign = await (await newIssuer()).addKey('ES256', 'one');
    await expectRefused(closed, ['', unreachable, () => sign()]);
    expect(issuers.at(-1)?.asked).toEqual([]);
  });
});
