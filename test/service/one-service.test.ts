import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { itemsModule } from './cli-support.ts';
import { addItem, lacksContainers, startInContainer, whyWithout } from './container.ts';
import { type RunningService, resultOf, Sandbox } from './harness.ts';
import { Running } from './running.ts';
import { writtenFrom } from './written-module.ts';

let services: RunningService[] = [];

afterEach(async () => {
  await Promise.all(services.map((service) => service.stop('SIGKILL')));
  services = [];
});

async function tracked(starting: Promise<RunningService>): Promise<RunningService> {
  const service = await starting;
  services.push(service);
  return service;
}

it('[cli 8] a service in a container is refused, and starts when the first was killed', async ({
  skip,
}) => {
  skip(lacksContainers, whyWithout);
  const sandbox = await Sandbox.make();
  onTestFinished(() => sandbox.remove());
  const data = path.join(sandbox.folder, 'root/data');
  const first = await tracked(sandbox.start());
  const refusedText = async () => {
    const service = await tracked(startInContainer(sandbox));
    const { code, stderr } = await resultOf(service.child);
    expect(code).toBe(1);
    return stderr;
  };
  expect(await refusedText()).toMatch(
    /cannot take lock on database; .*already exists \(owned by pid \d+ in another pid namespace/,
  );
  rmSync(path.join(data, 'reducerdb.pid'));
  const text = `another process holds ${data}, and reducerdb.pid is gone`;
  expect(await refusedText()).toContain(text);
  const verify = await sandbox.run(['verify']);
  expect([verify.code, verify.stderr]).toEqual([1, `Error: ${lockText(text)}`]);

  expect(await first.stop('SIGKILL')).toBeNull();
  expect(existsSync(path.join(data, 'reducerdb.writer'))).toBe(true);
  const next = await tracked(startInContainer(sandbox));
  await next.untilReady();
}, 60_000);

function lockText(found: string): string {
  return `cannot take lock on database; ${found}. Stop the service first.\n`;
}

it('[durability D1] a database stops when the mark of its service is gone', async () => {
  const exceptions = new Map([['apart', 'process'] as const]);
  const running = await Running.start({ isolation: { everywhere: 'thread', exceptions } });
  const { url } = running.service;
  try {
    const owner = await running.person();
    const program = await writtenFrom(itemsModule());
    const databases = ['shared', 'apart'];
    for (const name of databases) await running.upload(name, program, owner);
    writeFileSync(path.join(running.folder, 'reducerdb.writer'), '{"service":"another"}');
    for (const name of databases) {
      // For a second, what it saw last counts.
      const status = async () => (await addItem(url, name, 'Ann')).status;
      await expect.poll(status, { timeout: 10_000 }).toBe(500);
      const { text } = await addItem(url, name, 'Ann');
      expect(text).toContain('another service has taken over the data folder');
    }
    expect((await running.ask('GET', '/v1/ping')).status).toBe(200);
  } finally {
    await running.stop();
  }
}, 60_000);
