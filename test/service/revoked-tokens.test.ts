import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { capabilityToClaim } from '../../src/auth/capability.ts';
import { DatabaseFiles } from '../../src/host/registry/database-files.ts';
import { openRegistry } from '../../src/host/registry/open-registry.ts';
import { MachineClock } from '../../src/node/clock.ts';
import { MachineEntropy } from '../../src/node/entropy.ts';
import { identityFromHex } from '../../src/values/identity.ts';
import { callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { type IssuerSigner, LocalIssuer } from '../support/local-issuer.ts';
import { spellings, twinOf } from '../support/token-twins.ts';
import { type Person, Running } from './running.ts';
import { presentEverywhere } from './token-doors.ts';

let running: Running;
let issuer: LocalIssuer;
let owner: Person;
let sign: IssuerSigner;

beforeAll(async () => {
  issuer = await LocalIssuer.start();
  sign = await issuer.addKey('ES256', 'one');
  running = await Running.start();
  owner = await running.person();
  await running.publish('inn', 'inn', owner);
});
afterAll(async () => {
  await running.stop();
  issuer.stop();
});

const post = async (where: string, token: string) =>
  running.ask('POST', `/v1/identity/${where}`, { headers: { authorization: `Bearer ${token}` } });

async function giveUp(token: string): Promise<void> {
  expect(await post('revoke', token)).toMatchObject({ status: 200, text: '' });
}

async function shortLived(token: string): Promise<string> {
  return JSON.parse((await post('websocket-token', token)).text).token;
}

const isAccepted = async (token: string) => (await post('websocket-token', token)).status === 200;

it('[auth 2.5] tokens of every kind that were given up are refused, after a restart too', async () => {
  const host = (await running.person()).token;
  const foreign = await sign({ sub: 'gone' });
  const kept = await sign({ sub: 'gone', iat: 2 });
  const again = await shortLived(foreign);
  const agent = (await running.agent('inn', { read_only: true }, owner)).token;
  const gone = [host, foreign, again, agent];
  for (const token of [...gone, kept]) expect(await isAccepted(token)).toBe(true);
  expect(await post('revoke', again)).toMatchObject({
    status: 400,
    text: 'This token stands for another; give up that one',
  });
  for (const token of [host, foreign, agent]) await giveUp(token);
  for (let start = 0; start < 2; start += 1) {
    for (const token of gone) {
      for (const { door, status, text } of await presentEverywhere(running, 'inn', token)) {
        expect([door, status, text]).toEqual([door, 401, 'Invalid token: Revoked']);
      }
    }
    // Another token of the same account is another token.
    expect(await isAccepted(kept)).toBe(true);
    await running.pause();
    running = await Running.start({ dataDirectory: running.folder });
  }
});

it('[auth 2.4] the claim of a limited token means nothing in one of another issuer', async () => {
  const database = (await running.ask('GET', '/v1/database/inn/identity')).text;
  const claim = {
    database: databaseIdentity(identityFromHex(database) ?? 0n),
    by: callerIdentity(identityFromHex(owner.identity) ?? 0n),
    tables: ['secret'],
    readOnly: false,
    sqlWrites: true,
  };
  const reducerdb = capabilityToClaim(claim);
  // Nor does one that claims to stand for a token of somebody else.
  for (const forged of [reducerdb, { instead_of: 'sha256:x' }]) {
    const token = await sign({ sub: 'mallory', jti: 'x', reducerdb: forged });
    for (const presented of [
      token,
      await shortLived(token),
      await shortLived(await shortLived(token)),
    ]) {
      const as = { identity: '', token: presented };
      expect((await running.sql('inn', 'SELECT * FROM person', as)).status).toBe(200);
      expect((await running.sql('inn', 'SELECT * FROM secret', as)).status).toBe(400);
      expect((await running.sql('inn', 'DELETE FROM person', as)).status).toBe(400);
    }
  }
});

it.each(['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'])(
  '[auth 2.5] no other spelling of a revoked token signed with %s comes through any door',
  async (alg) => {
    const other = await LocalIssuer.start();
    onTestFinished(() => other.stop());
    const token = await (await other.addKey(alg, 'one'))({ sub: `bearer of ${alg}` });
    expect(await isAccepted(token)).toBe(true);
    const again = await shortLived(token);
    await giveUp(token);
    const sent = spellings(token, alg).filter(([, text]) => /^[\x21-\x7e]+$/.test(text));
    for (const [how, text] of [['itself', token], ['made from it', again], ...sent] as const) {
      for (const { door, status } of await presentEverywhere(running, 'inn', text)) {
        expect([how, door, status]).toEqual([how, door, 401]);
      }
    }
  },
);

it('[auth 2.5] the twin of a revoked token of the host deletes no database', async () => {
  const thief = await running.person();
  await running.publish('prize', 'inn', thief);
  await giveUp(thief.token);
  for (const token of [thief.token, twinOf(thief.token)]) {
    const as = { identity: thief.identity, token };
    expect((await running.ask('DELETE', '/v1/database/prize', { as })).status).toBe(401);
  }
  expect((await running.ask('GET', '/v1/database/prize')).status).toBe(200);
});

it('[auth 2.5] what an earlier version revoked by its text stays revoked, twins too', async () => {
  const host = (await running.person()).token;
  const foreign = await sign({ sub: 'revoked long ago' });
  const texts = [host, foreign, twinOf(foreign)];
  for (const token of texts) expect(await isAccepted(token)).toBe(true);
  await running.pause();
  await revokeByText(running.folder, [host, foreign]);
  running = await Running.start({ dataDirectory: running.folder });
  for (const token of [...texts, twinOf(host)]) expect(await isAccepted(token)).toBe(false);
});

/** As versions before this rule did: by the digest of the token with its signature. */
async function revokeByText(folder: string, tokens: readonly string[]): Promise<void> {
  const options = { clock: new MachineClock(), entropy: new MachineEntropy(), report: () => {} };
  const registry = await openRegistry(options, new DatabaseFiles(folder));
  for (const token of tokens) {
    const id = `sha256:${createHash('sha256').update(token).digest('base64url')}`;
    const times = { untilMicros: 0n, revokedMicros: options.clock.nowMicros() };
    await registry.revokeToken({ id, ...times, revokedBy: callerIdentity(1n) });
  }
  await registry.close();
}
