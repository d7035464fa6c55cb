import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalIssuer } from '../../test/support/local-issuer.ts';
import { signToken } from '../../test/support/sign-token.ts';
import { spellings, twinOf } from '../../test/support/token-twins.ts';
import { HostTokens } from './host-tokens.ts';
import { Issuers } from './issuers.ts';
import { type HostKeys, keyFilesIn, loadKeys } from './keys.ts';
import { formerIds, isHighSigned, signedId } from './signature.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-signature-'));
const nowSeconds = () => Math.floor(Date.now() / 1000);
const revoked = new Set<string>();
const loopback = { allowsLoopback: true, allowsPrivate: false };
let keys: HostKeys;
let issuer: LocalIssuer;
let tokens: HostTokens;

/** Creates `HostTokens` with an empty cache, so that cached results cannot cause a rejection. */
const fresh = (more = {}) =>
  new HostTokens(keys, {
    issuers: new Issuers(loopback),
    isRevoked: (id) => revoked.has(id),
    ...more,
  });

beforeAll(async () => {
  const write = async (file: string, text: string, mode: number) =>
    writeFileSync(file, text, { mode });
  keys = await loadKeys(keyFilesIn(folder), write);
  issuer = await LocalIssuer.start();
  tokens = fresh();
});
afterAll(() => {
  issuer.stop();
  rmSync(folder, { recursive: true });
});

async function outcome(token: string, by: HostTokens = tokens): Promise<string> {
  return by.verify(token).then(
    () => 'accepted',
    (error: Error) => error.message,
  );
}

const algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'];

describe('tokens of the host', () => {
  it('[auth 2.3] are signed low', async () => {
    for (let count = 0; count < 40; count += 1) {
      expect(isHighSigned((await tokens.issue()).token, 'ES256')).toBe(false);
    }
  });

  it('[auth 2.3] are refused with the other signature', async () => {
    const { token } = await tokens.issue();
    expect(await outcome(token)).toBe('accepted');
    expect(await outcome(twinOf(token))).toBe('Invalid token: InvalidSignature');
  });

  it('[auth 2.3] from before they were signed low count either way, as one', async () => {
    const claims = { iss: 'localhost', sub: 'long ago', iat: nowSeconds() - 1_000 };
    const low = signToken(keys.privateKey, claims);
    const high = twinOf(low);
    const older = () => fresh({ lowSignedSince: nowSeconds() - 500 });
    const ids = [low, high].map(async (token) => (await older().verify(token)).tokenId);
    const [id = '', other] = await Promise.all(ids);
    expect(other).toBe(id);
    revoked.add(id);
    for (const token of [low, high]) {
      expect(await outcome(token, older())).toBe('Invalid token: Revoked');
    }
    const later = signToken(keys.privateKey, { ...claims, iat: nowSeconds() });
    expect(await outcome(twinOf(later), older())).toBe('Invalid token: InvalidSignature');
  });
});

describe.each(algorithms)('a revoked token signed with %s', (alg) => {
  it('[auth 2.5] stays revoked however its signature or its text is varied', async () => {
    issuer.keys = [];
    const sign = await issuer.addKey(alg, 'one');
    const token = await sign({ sub: `bearer of ${alg}` });
    const known = fresh();
    const { tokenId } = await known.verify(token);
    const another = await sign({ sub: `bearer of ${alg}`, iat: 2 });
    revoked.add(tokenId);
    for (const by of [known, fresh()]) {
      expect(await outcome(token, by)).toBe('Invalid token: Revoked');
      for (const [how, varied] of spellings(token, alg)) {
        expect([how, await outcome(varied, by)]).toEqual([how, expect.stringMatching(/^Invalid/)]);
      }
      expect(await outcome(another, by)).toBe('accepted');
    }
  });

  it('[auth 2.5] stays revoked when an earlier version revoked it, with its twin', async () => {
    issuer.keys = [];
    const sign = await issuer.addKey(alg, 'one');
    const token = await sign({ sub: `earlier bearer of ${alg}` });
    expect(await outcome(token, fresh())).toBe('accepted');
    const [former = ''] = formerIds(token, alg);
    expect(former).toMatch(/^sha256:/);
    revoked.add(former);
    expect(await outcome(token, fresh())).toBe('Invalid token: Revoked');
    if (!alg.startsWith('ES')) return;
    expect(await outcome(twinOf(token), fresh())).toBe('Invalid token: Revoked');
  });
});

it('[auth 2.3] another issuer may sign high', async () => {
  for (const alg of ['ES256', 'ES384']) {
    issuer.keys = [];
    const token = await (await issuer.addKey(alg, 'one'))({ sub: alg });
    const both = [token, twinOf(token)];
    expect(both.filter((one) => isHighSigned(one, alg))).toHaveLength(1);
    for (const one of both) expect(await outcome(one, fresh())).toBe('accepted');
    expect(signedId(twinOf(token))).toBe(signedId(token));
  }
});

it.each(['es256', 'ES256 ', 'ES256K', 'ES512', 'RS512', 'HS256', 'none', 'ed25519'])(
  '[auth 4.2] the algorithm %j is accepted of nobody',
  async (alg) => {
    const { privateKey }: { privateKey: KeyObject } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
    });
    for (const key of [keys.privateKey, privateKey]) {
      for (const iss of ['localhost', issuer.url]) {
        const token = signToken(key, { iss, sub: 'x', iat: 1 }, { alg, kid: 'one' });
        expect(await outcome(token)).toMatch(/^Invalid token: (JSON error|InvalidAlgorithm)/);
      }
    }
  },
);
