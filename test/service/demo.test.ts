import { execFile } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { root } from './harness.ts';

describe('npm run demo -- --once', () => {
  it('shows rows that came through a reducer, and ends', async () => {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['scripts/demo.mjs', '--once', '--no-build'], {
      cwd: root,
    });
    expect(stdout).toMatch(/^service on http:\/\/127\.0\.0\.1:\d+, data in /m);
    expect(stdout).toMatch(/^created database chat, identity c200[0-9a-f]{60}$/m);
    expect(stdout).toMatch(/^ 1 {2}\| "Is anybody here\?" +\| 20\d\d-\d\d-\d\dT\S+ +$/m);
    expect(stdout).toMatch(/^ 2 {2}\| "I am\. This row came through a reducer\." /m);
    expect(stdout).toContain('"mcpServers"');
    expect(stdout).toMatch(/^ {2}http:\/\/127\.0\.0\.1:\d+\/console\/#code=[\w-]{43}$/m);
  });
});

describe('npm run demo', () => {
  it('says before it builds that its port is taken, and what to do', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as AddressInfo;
    const run = promisify(execFile);
    try {
      const demo = run(process.execPath, ['scripts/demo.mjs', '--port', `${port}`], { cwd: root });
      await expect(demo).rejects.toMatchObject({
        code: 1,
        stdout: '',
        stderr:
          `Error: Port ${port} is already in use by another process. ` +
          '`npm run demo -- --port 3100` takes another one, `npm run demo -- --once` a free one\n',
      });
    } finally {
      holder.close();
    }
  });
});
