import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { ServiceCluster } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import { writtenFrom } from './written-module.ts';

const shop = `
import { schema, t } from 'reducerdb/server';
const db = schema({}, { env: { KEY: t.secret() } });
export default db;
export const length = db.procedure(t.u32(), (ctx) => ctx.env.KEY.length);
`;

describe.skipIf(withoutPostgres !== undefined)('keys of a cluster', () => {
  let cluster: ServiceCluster;
  let a: RunningService;
  let b: RunningService;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    cluster.hasSecretFiles = true;
    await cluster.appoint();
    a = await cluster.host('a');
    b = await cluster.host('b');
  });
  afterAll(() => cluster?.close());

  const publicKey = async ({ url }: RunningService) =>
    (await fetch(`${url}/v1/identity/public-key`)).text();
  const newToken = async ({ url }: RunningService) => {
    const answer = await fetch(`${url}/v1/identity`, { method: 'POST' });
    return ((await answer.json()) as { token: string }).token;
  };
  const statusOf = async ({ url }: RunningService, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${url}/v1/ping`, { headers })).status;
  };
  const living = async () => {
    const { hosts } = JSON.parse(await cluster.ok(a, ['cluster', 'hosts', '--json']));
    return hosts.filter(({ state }: { state: string }) => state === 'up').length;
  };

  it('[replication 7.6] are rotated for all hosts by one command, while they run', async () => {
    await expect.poll(living).toBe(2);
    const [before, token] = [await publicKey(a), await newToken(a)];
    const operators = await cluster.ok(b, ['keys', 'rotate']);
    expect(operators).toMatch(/current +\| SHA256:\S+ +\| signs, since/);
    expect(operators).toMatch(/ 1 +\| SHA256:\S+ +\| verifies, since/);
    expect(await publicKey(a)).not.toBe(before);
    expect(await publicKey(b)).toBe(await publicKey(a));
    for (const host of [a, b]) expect(await statusOf(host, token)).toBe(200);
    const later = await newToken(a);
    expect(await statusOf(b, later)).toBe(200);
    // The operator's own token is of the old key, which is kept for that.
    expect(await cluster.ok(a, ['keys', 'list'])).toMatch(/ 1 +\|.*verifies/);
    const audit = await cluster.ok(b, ['audit', '--format', 'json']);
    expect(audit).toContain('"rotate keys"');
    const nobody = await cluster.run(a, ['keys', 'retire', '7']);
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('no old key 7') });
  });

  it('[replication 7.6] those of secrets are, too, and what they encrypt is encrypted again', async () => {
    const owner = await cluster.owner(a);
    const program = await writtenFrom(shop);
    const made = await fetch(`${a.url}/v1/database/shop?host_type=Js`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${owner.token}`,
        'content-type': 'application/x-reducerdb-publish',
      },
      body: Buffer.concat([Buffer.from('{"env":{"KEY":"twelve chars"}}\n'), program]),
    });
    expect(made.status, await made.text()).toBe(200);
    const length = async (host: RunningService) =>
      (
        await fetch(`${host.url}/v1/database/shop/call/length`, {
          method: 'POST',
          headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
          body: '[]',
        })
      ).text();
    expect(await length(b)).toBe('12');
    const rotated = await cluster.ok(b, ['keys', 'rotate', '--secrets']);
    expect(rotated).toMatch(/current +\|.*encrypts, since \d/);
    expect(rotated).toMatch(/ 1 +\|.*decrypts, since the cluster began/);
    const output = () => a.output + b.output;
    await expect.poll(output).toContain('Secrets were encrypted again with the current key: 1');
    // Refused while the host that is asked knows of secrets that need it.
    await expect
      .poll(() => cluster.run(a, ['keys', 'retire', '1', '--secrets']))
      .toMatchObject({ code: 0, stdout: expect.not.stringContaining('decrypts') });
    expect(await length(a)).toBe('12');
    await cluster.ok(a, ['cluster', 'move', 'shop', 'b']);
    expect(await length(a)).toBe('12');
  });

  it('[replication 7.7] its secret is changed while hosts run, and the old one opens nothing', async () => {
    const next = randomBytes(32).toString('base64');
    const old = readFileSync(cluster.secretFile('a'), 'utf8');
    const signal = async (host: RunningService, name: string, secrets: string, said: string) => {
      writeFileSync(cluster.secretFile(name), secrets);
      const before = host.output.length;
      host.child.kill('SIGHUP');
      await expect.poll(() => host.output.slice(before)).toContain(said);
    };
    await signal(a, 'a', `${next}\n${old}\n`, 'reloaded the keys');
    const early = await cluster.run(a, ['cluster', 'secret', 'rotate']);
    expect(early).toMatchObject({ code: 1, stderr: expect.stringMatching(/b has no secret/) });
    await signal(b, 'b', `${next}\n${old}\n`, 'reloaded the keys');
    expect(await cluster.ok(b, ['cluster', 'secret', 'rotate'])).toMatch(
      /is in use\. Take the one/,
    );
    await signal(a, 'a', next, 'reloaded the keys');
    await signal(b, 'b', next, 'reloaded the keys');
    await signal(b, 'b', old, "is not the cluster's");
    writeFileSync(cluster.secretFile('b'), next);
    // Each reaches the other by new connections alone.
    expect(await cluster.ok(a, ['cluster', 'move', 'shop', 'a'])).toContain('led by a');
    expect(await cluster.ok(b, ['cluster', 'secret', 'show'])).toMatch(
      /a +\| [0-9a-f]{16} \(in use\) *\n/,
    );
    const { stderr, code } = await cluster.refused('c');
    expect([code, stderr]).toEqual([1, expect.stringContaining("is not the cluster's")]);
    writeFileSync(cluster.secretFile('c'), next);
    const c = await cluster.host('c');
    expect(await publicKey(c)).toBe(await publicKey(a));
    await c.stop();
  });

  it('[replication 7.6] tokens of a retired key are refused at every host at once', async () => {
    const token = await newToken(a);
    const { stdout, code } = await cluster.run(a, ['keys', 'rotate', '--retire']);
    expect([code, stdout]).not.toEqual([0, expect.stringContaining('verifies')]);
    for (const host of [a, b]) expect(await statusOf(host, token)).toBe(401);
    for (const host of [a, b]) expect(await statusOf(host, await newToken(a))).toBe(200);
    const last = await cluster.run(b, ['keys', 'list']);
    expect(last).toMatchObject({ code: 1, stderr: expect.stringContaining('InvalidSignature') });
  });
});
