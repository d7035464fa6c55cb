import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settings } from '../../src/service/settings.ts';
import { writeFiles } from './cli-support.ts';
import { freePort, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let data: string;
beforeEach(async () => {
  sandbox = await Sandbox.make();
  data = path.join(sandbox.folder, 'data');
});
afterEach(() => sandbox.remove());

const check = (...flags: string[]) => ['config', 'check', '--data-dir', data, ...flags];

describe('config check', () => {
  it('[cli 7.5] shows every setting by its table, what was set, and what follows', async () => {
    const port = await freePort();
    writeFiles(data, {
      'config.toml': `listen-addr = "127.0.0.1:${port}"\n[logs]\nlevel = "warn"\n`,
    });
    const env = { REDUCERDB_CALL_TIMEOUT: '3s' };
    const text = await sandbox.ok(check('--log-level', 'debug'), { env });
    const lines = text.split('\n').map((line) => line.replace(/ {2,}/g, '  ').trimEnd());
    expect(lines[0]).toBe(`data folder  ${data}`);
    expect(lines[1]).toBe(`file  ${data}/config.toml`);
    expect(lines).toContain(`* listen-addr  127.0.0.1:${port}  from config.toml`);
    expect(lines).toContain('* level  debug  from --log-level');
    expect(lines).toContain('* call-timeout  3s  from REDUCERDB_CALL_TIMEOUT');
    expect(lines).toContain('  heap  (256 MiB)');
    expect(lines).toContain('[websocket]');
    expect(text).toContain('Only programs on this machine can connect.');
    const shown = lines.filter((line) => /^(\* | {2})[a-z]/.test(line));
    expect(shown).toHaveLength(settings.length);
    for (const line of lines) expect(line.length).toBeLessThan(100);
  });

  it('[cli 7.5] gives JSON to programs, warnings beside it', async () => {
    writeFiles(data, { 'config.toml': '[commitlog]\nwrite-buffer-size = 1\n' });
    const { code, stdout, stderr } = await sandbox.run(check('--json', '--heap-limit', '64'));
    expect(code).toBe(0);
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ data_dir: data, file: `${data}/config.toml` });
    expect(told.settings).toHaveLength(settings.length);
    expect(told.settings).toContainEqual({
      key: 'limits.heap',
      value: '64',
      from: '--heap-limit',
      default: '256 MiB',
      flag: '--heap-limit',
      variable: 'REDUCERDB_HEAP_LIMIT',
      meaning: 'JavaScript heap of one database',
    });
    const warning = `${data}/config.toml: \`commitlog.write-buffer-size\` has no effect here.`;
    expect(told.warnings).toEqual([warning]);
    expect(stderr).toBe(`WARNING: ${warning}\n`);
  });

  it('[cli 7.5] refuses what a start would refuse, in the same words', async () => {
    writeFiles(data, { 'config.toml': '[websockets]\nping-interval = 5\n' });
    for (const command of [['start', '--data-dir', data], check()]) {
      const { code, stderr } = await sandbox.run(command);
      expect(code).toBe(1);
      expect(stderr).toBe(
        `Error: ${data}/config.toml: \`websockets.ping-interval\` is not a setting. ` +
          'Did you mean `websocket.ping-interval`?\n',
      );
    }
    expect(await sandbox.run(check('--tls-cert', 'x'))).toMatchObject({ code: 1 });
    expect((await sandbox.run(check('--no-such-flag'))).code).toBe(2);
  });

  it('says what others can do when they can connect', async () => {
    const flags = ['-l', '0.0.0.0:3000', '--publish-policy', 'owners-list:', '--metrics', 'off'];
    expect((await sandbox.run(check(...flags))).code).toBe(2);
    flags[3] = `owners-list:c200${'1'.repeat(60)}`;
    const text = await sandbox.ok(check(...flags));
    expect(text).toContain('Other machines can connect to 0.0.0.0:3000.');
    expect(text).toContain('Who may publish: those that are listed.');
    expect(text).toContain('TLS is off, so tokens are sent in clear text.');
    expect(text).toContain('No operator is set');
  });
});

describe('config init', () => {
  it('[cli 7.5] writes a file that explains every setting, once, for its owner alone', async () => {
    const file = path.join(data, 'config.toml');
    const init = ['config', 'init', '--data-dir', data];
    expect(await sandbox.ok(init)).toBe(`Wrote ${file}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, 'utf8');
    for (const { key } of settings) {
      expect(text).toContain(`\n#${key.slice(key.lastIndexOf('.') + 1)} = `);
    }
    expect(await sandbox.ok(check())).not.toContain('from config.toml');
    const again = await sandbox.run(init);
    expect(again).toMatchObject({ code: 1, stderr: `Error: ${file} already exists.\n` });
  });
});

describe('start', () => {
  it('[cli 8.2] uses config.toml of the data folder; flags win', async () => {
    const port = await freePort();
    writeFiles(data, {
      'config.toml':
        `listen-addr = "127.0.0.1:${port}"\n[auth]\njwt-key-dir = "my-keys"\n` +
        'issuer = "somewhere"\n[http]\nmetrics = "off"\n',
    });
    // The harness names an address of its own by a flag.
    const service = await sandbox.startAt(sandbox.port, ['--data-dir', data]);
    expect(existsSync(path.join(data, 'my-keys/id_ecdsa'))).toBe(true);
    const answer = await fetch(`${service.url}/v1/identity`, { method: 'POST' });
    const { token } = (await answer.json()) as { token: string };
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(claims.iss).toBe('somewhere');
    expect((await fetch(`${service.url}/v1/metrics`)).status).toBe(404);
    expect(await service.stop()).toBe(0);

    const child = sandbox.spawn(['start', '--data-dir', data]);
    const ping = () => fetch(`http://127.0.0.1:${port}/v1/ping`).then((pong) => pong.status);
    await expect.poll(() => ping().catch(() => 0), { timeout: 10_000 }).toBe(200);
    child.kill('SIGTERM');
    await new Promise((resolve) => child.on('close', resolve));
  });

  it('[cli 8] takes the two key files by their paths, as a SpacetimeDB server does', async () => {
    const flags = ['--jwt-priv-key-path', 'k/secret', '--jwt-pub-key-path', 'k/public'];
    const service = await sandbox.start(flags);
    const pem = await (await fetch(`${service.url}/v1/identity/public-key`)).text();
    expect(pem).toBe(readFileSync(path.join(sandbox.folder, 'k/public'), 'utf8'));
    expect(statSync(path.join(sandbox.folder, 'k/secret')).mode & 0o777).toBe(0o600);
    expect(await service.stop()).toBe(0);
    const half = await sandbox.run(['start', ...flags.slice(0, 2)]);
    expect(half.code).toBe(1);
    expect(half.stderr).toContain('--jwt-priv-key-path and --jwt-pub-key-path belong together');
  });

  it('warns of what has no effect, and starts', async () => {
    const env = { REDUCERDB_PUBLSH_POLICY: 'anyone' };
    const args = ['start', '--data-dir', data, '-l', `127.0.0.1:${sandbox.port}`];
    const child = sandbox.spawn(args, { env });
    let errors = '';
    child.stderr?.on('data', (chunk) => {
      errors += chunk;
    });
    await expect.poll(() => errors, { timeout: 10_000 }).toContain('listening on');
    expect(errors).toContain(
      'WARNING: The variable REDUCERDB_PUBLSH_POLICY is not a setting. ' +
        'Did you mean `REDUCERDB_PUBLISH_POLICY`?\n',
    );
    child.kill('SIGTERM');
    await new Promise((resolve) => child.on('close', resolve));
  });

  it('has a flag and its default for each setting in its help', async () => {
    const text = (await sandbox.ok(['start', '--help'])).replace(/\s+/g, ' ');
    for (const { flag, otherwise } of settings) {
      expect(text).toContain(`--${flag} `);
      expect(text).toContain(`(default: ${otherwise})`);
    }
  });
});
