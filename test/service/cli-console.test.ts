import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settings } from '../../src/service/settings.ts';
import { itemsModule, writeBundle, writeFiles } from './cli-support.ts';
import { freePort, type RunningService, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let service: RunningService;
let operatorToken: string;

/** Somebody whom a service of this sandbox knows from an earlier start. */
async function operatorOf(of: Sandbox): Promise<{ identity: string; token: string }> {
  const first = await of.start();
  const answer = await fetch(`${first.url}/v1/identity`, { method: 'POST' });
  await first.stop();
  return (await answer.json()) as { identity: string; token: string };
}

beforeAll(async () => {
  sandbox = await Sandbox.make();
  const { identity, token } = await operatorOf(sandbox);
  operatorToken = token;
  const data = path.join(sandbox.folder, 'root/data');
  writeFiles(data, { 'config.toml': '[limits]\nheap = 96\n' });
  process.env.REDUCERDB_CALL_TIMEOUT = '7s';
  service = await sandbox.start(['--log-level', 'trace', '--operator', identity]);
  delete process.env.REDUCERDB_CALL_TIMEOUT;
  const bundle = await writeBundle(sandbox, 'module', itemsModule());
  await sandbox.ok(['publish', 'shop', '-j', bundle]);
}, 180_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

async function redeemed(code: string): Promise<{ identity: string; token: string }> {
  const answer = await fetch(`${service.url}/v1/console/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  return JSON.parse(await answer.text());
}

const tokenFor = async (code: string) => (await redeemed(code)).token;

/** Whom the code of an address signs in. */
async function signedIn(address: string): Promise<string> {
  return (await redeemed(new URL(address).hash.replace('#code=', ''))).identity;
}

describe('[console 1.3, cli 3.6] reducerdb console', () => {
  it('prints an address that signs in whoever opens it first', async () => {
    const shown = await sandbox.ok(['login', 'show']);
    const host = await sandbox.ok(['console', '--no-browser']);
    expect(host).toMatch(new RegExp(`^${sandbox.url}/console/#code=[\\w-]{43}\\n$`));
    expect(shown).toContain(await signedIn(host.trim()));
    const page = await sandbox.ok(['console', 'shop', '--no-browser']);
    expect(page).toMatch(new RegExp(`^${sandbox.url}/console/db/shop#code=[\\w-]{43}\\n$`));
  });

  it('leaves neither code nor token in the log of the service', async () => {
    const address = await sandbox.ok(['console', '--no-browser']);
    const code = new URL(address.trim()).hash.replace('#code=', '');
    const token = await tokenFor(code);
    expect(token).toMatch(/^ey/);
    await fetch(`${service.url}/v1/database/shop/schema?version=9`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const other = await fetch(`${service.url}/v1/console/sessions`, { method: 'POST' });
    expect(other.status).toBe(422);
    expect(service.output).toContain('listening on');
    for (const secret of [code, token]) expect(service.output).not.toContain(secret);
  });

  it('opens the browser, and prints no code then', async () => {
    const [browser, opened] = ['browser.sh', 'opened'].map((name) => {
      return path.join(sandbox.folder, name);
    }) as [string, string];
    writeFileSync(browser, `#!/bin/sh\nprintf '%s' "$1" > ${opened}\n`);
    chmodSync(browser, 0o755);
    const env = { BROWSER: browser };
    const { stdout, stderr, code } = await sandbox.run(['console', 'shop'], { env });
    expect([code, stdout, stderr]).toEqual([0, `Opened ${sandbox.url}/console/db/shop\n`, '']);
    const shown = await sandbox.ok(['login', 'show']);
    // Arguments of programs can be read by every user of the machine, so the code is in a file.
    const page = fileURLToPath(readFileSync(opened, 'utf8'));
    const [, address = ''] = /url=([^"]+)"/.exec(readFileSync(page, 'utf8')) ?? [];
    expect(address).toMatch(new RegExp(`^${sandbox.url}/console/db/shop#code=[\\w-]{43}$`));
    expect(shown).toContain(await signedIn(address));
  });

  it('prints the address where no browser opens', async () => {
    const env = { BROWSER: path.join(sandbox.folder, 'nothing') };
    const { stdout, stderr, code } = await sandbox.run(['console'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/\/console\/#code=[\w-]{43}\n$/);
    expect(stderr).toContain('No browser could be opened');
  });

  it('says what is wrong with the database or the service', async () => {
    const unknown = await sandbox.run(['console', 'nowhere', '--no-browser']);
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('`nowhere` not found'),
    ]);
    const folder = path.join(sandbox.folder, 'other');
    const port = await freePort();
    const off = await sandbox.startAt(port, ['--console', 'off', '--data-dir', folder]);
    expect(off.output).not.toContain('console:');
    const refused = await sandbox.run(['console', '--no-browser', '--server', off.url]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining(`The console of ${off.url} is off`),
    ]);
    await off.stop();
  });
});

describe('[http 17.2] the settings in force', () => {
  it('are shown to operators with where each comes from', async () => {
    const answer = await fetch(`${service.url}/v1/service/settings`, {
      headers: { authorization: `Bearer ${operatorToken}` },
    });
    const shown = JSON.parse(await answer.text()).settings as { name: string }[];
    expect(shown.map(({ name }) => name)).toEqual(settings.map(({ key }) => key));
    const of = (key: string) => shown.find(({ name }) => name === key);
    expect(of('logs.level')).toMatchObject({ value: 'trace', source: 'flag' });
    expect(of('limits.heap')).toEqual({
      ...{ name: 'limits.heap', value: 96, source: 'file', default: '256 MiB' },
    });
    expect(of('limits.call-timeout')).toMatchObject({ value: '7s', source: 'environment' });
    expect(of('console')).toEqual({
      ...{ name: 'console', value: null, source: 'default', default: 'loopback' },
    });
  });
});
