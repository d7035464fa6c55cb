import { chmodSync, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type RunningService, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let keyFolder: string;
let service: RunningService | undefined;

beforeEach(async () => {
  sandbox = await Sandbox.make();
  keyFolder = path.join(sandbox.folder, 'root/config');
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  sandbox.remove();
});

async function start(flags: readonly string[] = []): Promise<string> {
  service = await sandbox.start(flags);
  return service.url;
}

async function newToken(url: string): Promise<string> {
  const answer = await fetch(`${url}/v1/identity`, { method: 'POST' });
  return ((await answer.json()) as { token: string }).token;
}

async function isAccepted(url: string, token: string): Promise<boolean> {
  const answer = await fetch(`${url}/v1/ping`, { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok) expect(await answer.text()).toBe('Invalid token: InvalidSignature');
  return answer.ok;
}

const publicKey = async (url: string) => (await fetch(`${url}/v1/identity/public-key`)).text();

/** The first column of the table that a command prints, and its third one up to the comma. */
async function keys(...words: readonly string[]): Promise<string[]> {
  const lines = (await sandbox.ok(['keys', ...words])).split('\n');
  return lines.flatMap((line) => {
    const [, key, state] = /^ *(\w+) +\| +SHA256:[\w-]{43} +\| +(\w+), since /.exec(line) ?? [];
    return key === undefined ? [] : [`${key} ${state}`];
  });
}

it('[auth 3, cli 7.6] rotates with an overlap: old keys verify until they are retired', async () => {
  expect(await sandbox.run(['keys', 'list'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the first start of a service makes them'),
  });
  const url = await start();
  const first = await newToken(url);
  const firstPem = await publicKey(url);
  expect(await keys('list')).toEqual(['current signs']);
  expect(await keys('rotate')).toEqual(['current signs', '1 verifies']);
  // Nothing changes below a running service that was not told.
  expect(await publicKey(url)).toBe(firstPem);
  await service?.stop();

  await start();
  expect(await publicKey(url)).not.toBe(firstPem);
  const second = await newToken(url);
  expect([await isAccepted(url, first), await isAccepted(url, second)]).toEqual([true, true]);
  expect(await keys('retire', '1')).toEqual(['current signs']);
  await service?.stop();

  await start();
  expect([await isAccepted(url, first), await isAccepted(url, second)]).toEqual([false, true]);
  expect(readdirSync(keyFolder).sort()).toEqual([
    'cli.toml',
    'id_ecdsa',
    'id_ecdsa.pub',
    'id_ecdsa.retired',
  ]);
});

it('[auth 3, cli 7.6] is taken up by a running service on SIGHUP', async () => {
  const url = await start();
  const pem = await publicKey(url);
  const token = await newToken(url);
  expect(await isAccepted(url, token)).toBe(true);
  expect(await keys('rotate', '--retire')).toEqual(['current signs']);
  service?.child.kill('SIGHUP');
  await expect.poll(() => publicKey(url)).not.toBe(pem);
  expect(await isAccepted(url, token)).toBe(false);

  chmodSync(path.join(keyFolder, 'id_ecdsa'), 0o644);
  service?.child.kill('SIGHUP');
  await expect.poll(() => service?.output).toContain('the keys were not reloaded: ');
  expect(await isAccepted(url, await newToken(url))).toBe(true);
});

it('[auth 3] refuses a start with a private key that others can read', async () => {
  await start();
  await service?.stop();
  chmodSync(path.join(keyFolder, 'id_ecdsa'), 0o644);
  const refused = await sandbox.run(['start', '--listen-addr', `127.0.0.1:${sandbox.port}`]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/id_ecdsa can be read or written by others \(mode 0644\)/);
});

it('[auth 3] takes the paths of both files, and rotates there', async () => {
  const at = (name: string) => path.join(sandbox.folder, 'elsewhere', name);
  const flags = ['--jwt-priv-key-path', at('a.pem'), '--jwt-pub-key-path', at('b.pem')];
  const url = await start(flags);
  const token = await newToken(url);
  await service?.stop();
  expect(existsSync(path.join(keyFolder, 'id_ecdsa'))).toBe(false);
  expect(await keys('rotate', ...flags)).toEqual(['current signs', '1 verifies']);
  expect(readdirSync(at('.')).sort()).toEqual(['a.pem', 'b.pem', 'b.pem.1.pub']);
  await start(flags);
  expect(await isAccepted(url, token)).toBe(true);
});

it('[auth 2.1] issues tokens that expire where the operator says so', async () => {
  const url = await start(['--token-expiry', '90d']);
  const payload = (await newToken(url)).split('.')[1] ?? '';
  const { iat, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  expect(exp - iat).toBe(90 * 86_400);
});

it.each([
  [['keys', 'retire', '1'], 1, 'There is no old key 1'],
  [['keys', 'retire', 'x'], 2, '<number> must be the number of an old key'],
])('[cli 7.6] %j is refused', async (words, code, text) => {
  await start();
  const refused = await sandbox.run(words);
  expect(refused.code).toBe(code);
  expect(refused.stderr).toContain(text);
});
