import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalIssuer } from '../../test/support/local-issuer.ts';
import { limits } from '../limits.ts';
import { addressKind } from './address-rules.ts';
import { readClaims } from './claims.ts';
import { keysAddressIn } from './discovery.ts';
import type { IssuerRules } from './issuer-rules.ts';
import { Issuers } from './issuers.ts';
import { tokenParts } from './token-parts.ts';

const loopbackToo: IssuerRules = { allowsLoopback: true, allowsPrivate: false };
let issuer: LocalIssuer;
let nowMillis = 0;
let reported: string[] = [];

beforeEach(async () => {
  issuer = await LocalIssuer.start();
  nowMillis = 1_000_000;
  reported = [];
});
afterEach(() => issuer.stop());

const issuersWith = (rules: IssuerRules = loopbackToo) =>
  new Issuers(rules, { nowMillis: () => nowMillis, report: (line) => reported.push(line) });

async function outcome(issuers: Issuers, token: string): Promise<string> {
  const parts = tokenParts(token);
  return issuers.verify(token, parts, readClaims(parts.payload, 1)).then(
    () => 'accepted',
    (error: Error) => error.message,
  );
}

describe('tokens of other issuers', () => {
  it.each(['RS256', 'ES256', 'ES384', 'PS256', 'EdDSA'])(
    '[auth 4.2] signed with %s',
    async (alg) => {
      const sign = await issuer.addKey(alg, 'one');
      expect(await outcome(issuersWith(), await sign())).toBe('accepted');
    },
  );

  it('[auth 6] one fetch serves all who come at once, and those who come after', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const issuers = issuersWith();
    const token = await sign();
    const all = await Promise.all(Array.from({ length: 20 }, () => outcome(issuers, token)));
    expect(new Set(all)).toEqual(new Set(['accepted']));
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  it('[auth 6] an unknown kid reads the set anew, at most once in 30 s', async () => {
    const first = await issuer.addKey('ES256', 'one');
    const issuers = issuersWith();
    expect(await outcome(issuers, await first())).toBe('accepted');
    const second = await issuer.addKey('ES256', 'two');
    expect(await outcome(issuers, await second())).toBe('Specified key ID not found in JWKs');
    nowMillis += 30_000;
    expect(await outcome(issuers, await second())).toBe('accepted');
    expect(issuer.asked).toHaveLength(4);
  });

  it('[auth 6] a key that was withdrawn stops working after the refresh', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const issuers = issuersWith();
    const token = await sign();
    expect(await outcome(issuers, token)).toBe('accepted');
    issuer.keys = [];
    nowMillis += 300_000;
    // The request that notices the age still gets the old keys.
    expect(await outcome(issuers, token)).toBe('accepted');
    await expect.poll(() => outcome(issuers, token)).toBe('Specified key ID not found in JWKs');
  });

  it('[auth 6] keys that nobody needed for a while are read anew before their use', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const issuers = issuersWith();
    const token = await sign();
    expect(await outcome(issuers, token)).toBe('accepted');
    issuer.keys = [];
    nowMillis += 600_000;
    expect(await outcome(issuers, token)).toBe('Specified key ID not found in JWKs');
  });

  it('[auth 6] a refresh that fails keeps the old keys', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const issuers = issuersWith();
    const token = await sign();
    expect(await outcome(issuers, token)).toBe('accepted');
    issuer.faults = { '': { status: 500 } };
    nowMillis += 300_000;
    expect(await outcome(issuers, token)).toBe('accepted');
    await expect.poll(() => issuer.asked.length).toBe(3);
    expect(await outcome(issuers, token)).toBe('accepted');
  });

  it('[auth 6] an issuer that failed is asked again after 5 s, not before', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    issuer.faults = { '': { status: 503 } };
    const issuers = issuersWith();
    const token = await sign();
    const text = `Error fetching public key for issuer ${issuer.url}`;
    expect(await outcome(issuers, token)).toBe(text);
    issuer.faults = {};
    expect(await outcome(issuers, token)).toBe(text);
    expect(issuer.asked).toHaveLength(1);
    nowMillis += 5_000;
    expect(await outcome(issuers, token)).toBe('accepted');
  });

  it('[auth 6] any number of made-up issuers drive out none that has keys', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const issuers = issuersWith();
    expect(await outcome(issuers, await sign())).toBe('accepted');
    for (let number = 0; number < limits.issuersMax + 10; number += 1) {
      const iss = `https://10.0.0.1/${number}`;
      expect(await outcome(issuers, await sign({ iss }))).toMatch(/^Error fetching public key/);
    }
    expect(await outcome(issuers, await sign())).toBe('accepted');
    expect(issuer.asked).toHaveLength(2);
  });

  it('[auth 6] without kid, every key is tried', async () => {
    await issuer.addKey('ES256', 'one');
    const sign = await issuer.addKey('RS256', 'two');
    expect(await outcome(issuersWith(), await sign({}, { kid: undefined }))).toBe('accepted');
  });
});

describe('refused tokens of other issuers', () => {
  it('[auth 4.2] an algorithm that does not fit the key, or is never accepted', async () => {
    const sign = await issuer.addKey('RS256', 'one', { alg: 'PS256' });
    expect(await outcome(issuersWith(), await sign())).toBe('Invalid token: InvalidAlgorithm');
    const [header, payload] = [
      { alg: 'HS256', kid: 'one' },
      { iss: issuer.url, sub: 'a', iat: 1 },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const forged = `${header}.${payload}.AAAA`;
    expect(await outcome(issuersWith(), forged)).toBe('Invalid token: InvalidAlgorithm');
  });

  it('[auth 4.2] a key that is for encryption, or no public key at all', async () => {
    const sign = await issuer.addKey('ES256', 'one', { use: 'enc' });
    issuer.keys.push({ kty: 'oct', kid: 'shared', k: 'c2VjcmV0' });
    expect(await outcome(issuersWith(), await sign())).toBe('Specified key ID not found in JWKs');
  });

  it('[auth 4.3] a signature of another key', async () => {
    await issuer.addKey('ES256', 'one');
    const [kept] = issuer.keys;
    const sign = await issuer.addKey('ES256', 'one');
    issuer.keys = kept === undefined ? [] : [kept];
    expect(await outcome(issuersWith(), await sign())).toBe('Invalid token: InvalidSignature');
  });

  it('[auth 4.3] another issuer in the document, save for a slash at the end', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    issuer.stated = 'https://other.example';
    expect(await outcome(issuersWith(), await sign())).toBe(
      `Issuer mismatch: got "https://other.example", expected "${issuer.url}"`,
    );
    issuer.stated = `${issuer.url}/`;
    expect(await outcome(issuersWith(), await sign())).toBe('accepted');
  });

  it.each([
    ['a redirect to another scheme', { status: 302, headers: { location: 'file:///x' } }],
    ['redirects without end', { status: 302, headers: { location: '/x' } }],
    ['a document that is no JSON', { status: 200, body: '<html>' }],
    ['a document over 1 MiB', { status: 200, body: `"${'x'.repeat(1_048_576)}"` }],
  ])('[auth 6] %s', async (_what, fault) => {
    const sign = await issuer.addKey('ES256', 'one');
    issuer.faults = { '': fault };
    expect(await outcome(issuersWith(), await sign())).toBe(
      `Error fetching public key for issuer ${issuer.url}`,
    );
  });

  it('[auth 6] a key without kid spoils the set', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    issuer.keys.push({ kty: 'OKP', crv: 'Ed25519', x: 'AAAA' });
    expect(await outcome(issuersWith(), await sign())).toBe(
      `Error fetching public key for issuer ${issuer.url}`,
    );
  });

  it('[auth 6] an issuer that is not on the list, and an audience that is not', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const listed = (audiences?: string[]) =>
      issuersWith({
        ...loopbackToo,
        accepted: [{ issuer: issuer.url, ...(audiences && { audiences }) }],
      });
    const others = issuersWith({ ...loopbackToo, accepted: [{ issuer: 'https://x.example' }] });
    expect(await outcome(others, await sign())).toBe(`Issuer not accepted: "${issuer.url}"`);
    expect(issuer.asked).toEqual([]);
    expect(await outcome(listed(), await sign())).toBe('accepted');
    expect(await outcome(listed(['us']), await sign({ aud: ['them', 'us'] }))).toBe('accepted');
    expect(await outcome(listed(['us']), await sign({ aud: 'them' }))).toMatch(
      /^Audience not accepted: /,
    );
  });
});

describe('addresses that a sender of tokens chooses', () => {
  it('[auth 6] loopback and private ones are not asked', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const closed = issuersWith({ allowsLoopback: false, allowsPrivate: false });
    for (const url of [issuer.url, issuer.url.replace('127.0.0.1', 'localhost')]) {
      expect(await outcome(closed, await sign({ iss: url }))).toBe(
        `Error fetching public key for issuer ${url}`,
      );
    }
    expect(issuer.asked).toEqual([]);
  });

  it('[auth 6] an issuer on the list may be anywhere, and its faults are reported', async () => {
    const sign = await issuer.addKey('ES256', 'one');
    const listed = issuersWith({
      allowsLoopback: false,
      allowsPrivate: false,
      accepted: [{ issuer: issuer.url }],
    });
    issuer.faults = { keys: { status: 503 } };
    const failed = `Error fetching public key for issuer ${issuer.url}`;
    expect(await outcome(listed, await sign())).toBe(failed);
    const cause = `the keys of ${issuer.url} cannot be read: ${issuer.url}/keys answered 503`;
    expect(reported).toEqual([cause]);
    issuer.faults = {};
    nowMillis += 5_000;
    expect(await outcome(listed, await sign())).toBe('accepted');
    const other = issuersWith();
    issuer.faults = { keys: { status: 503 } };
    expect(await outcome(other, await sign())).toBe(failed);
    expect(reported).toEqual([cause]);
  });

  it.each([
    ['https://a.example', { jwks_uri: 'https://b.example/keys' }, 'https://b.example/keys'],
    ['http://127.0.0.1', { jwks_uri: 'https://b.example/keys' }, 'https://b.example/keys'],
    ['https://a.example', { jwks_uri: 'http://a.example/keys' }, /asked by https/],
    ['https://a.example', { jwks_uri: 'keys' }, /Invalid URL/],
    ['https://a.example', { issuer: 'https://b.example' }, /^Issuer mismatch: got "https:\/\/b/],
    ['https://a.example', null, /names no `jwks_uri`/],
  ])('[auth 6] the document of %s, %j, says where keys are', (name, document, expected) => {
    const find = () => keysAddressIn(document, name);
    if (typeof expected === 'string') expect(find()).toBe(expected);
    else expect(find).toThrow(expected);
  });

  it.each([
    ['93.184.215.14', 'public'],
    ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', 'public'],
    ['127.8.9.1', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['0:0:0:0:0:ffff:7f00:1', 'loopback'],
    ['::ffff:93.184.215.14', 'private'],
    ['10.1.2.3', 'private'],
    ['172.31.255.255', 'private'],
    ['169.254.169.254', 'private'],
    ['100.64.0.1', 'private'],
    ['0.0.0.0', 'private'],
    ['::', 'private'],
    ['fd00::1', 'private'],
    ['fe80::1%eth0', 'private'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:a00:1', 'private'],
    ['64:ff9b::7f00:1', 'private'],
    ['2002:7f00:1::', 'private'],
    ['not an address', 'private'],
  ])('[auth 6] %s is %s', (address, kind) => {
    expect(addressKind(address)).toBe(kind);
  });
});
