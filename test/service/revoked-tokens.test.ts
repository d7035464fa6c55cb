import { afterAll, beforeAll, expect, it } from 'vitest';
import { capabilityToClaim } from '../../src/auth/capability.ts';
import { identityFromHex } from '../../src/values/identity.ts';
import { type IssuerSigner, LocalIssuer } from '../support/local-issuer.ts';
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

it('[auth, ours] tokens of every kind that were given up are refused, after a restart too', async () => {
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

it('[auth 2.2, ours] the claim of a limited token means nothing in one of another issuer', async () => {
  const database = (await running.ask('GET', '/v1/database/inn/identity')).text;
  const claim = {
    database: identityFromHex(database) ?? 0n,
    by: identityFromHex(owner.identity) ?? 0n,
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
