import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { figureIn } from './figure.ts';
import { RunningService, resultOf, root, Sandbox } from './harness.ts';

const prlimit = ['/usr/bin/prlimit', '/bin/prlimit'].find(existsSync);

let sandbox: Sandbox;
let sockets: Socket[] = [];
beforeEach(async () => {
  sandbox = await Sandbox.make();
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  sandbox.remove();
});

/** The service's command, where the system lets it have so many files open. */
function spawnWithin(countMax: number, flags: readonly string[] = []) {
  const address = `127.0.0.1:${sandbox.port}`;
  const args = ['start', '--listen-addr', address, '--log-level', 'warn', ...flags];
  return sandbox.spawn(args, { under: [prlimit ?? '', `--nofile=${countMax}:${countMax}`] });
}

/** A connection that asks nothing; true while the service keeps it. */
function hangOn(): Promise<{ isKept: () => boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ port: sandbox.port, host: '127.0.0.1' });
    let isKept = true;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      isKept = false;
      resolve({ isKept: () => isKept });
    });
    socket.on('connect', () => resolve({ isKept: () => isKept }));
    sockets.push(socket);
  });
}

const metrics = async () => (await fetch(`${sandbox.url}/v1/metrics`)).text();

describe.skipIf(prlimit === undefined)('a service that may have few files open', () => {
  // On threads, `npm run test:long -- operate` tries the same.
  it.each(['process'] as const)(
    'refuses clients before databases lack any: %s',
    async (isolation) => {
      const openMax = limits.descriptorsKept + 180;
      const child = spawnWithin(openMax, ['--isolation', isolation]);
      const service = new RunningService(child, sandbox.url);
      await service.untilReady();
      expect(service.output).toContain(`lets this process have ${openMax} files open`);
      const ledger = path.join(root, 'test/fixtures/modules/ledger');
      await sandbox.ok(['publish', 'ledger', '-p', ledger]);
      const hanging = await Promise.all(Array.from({ length: 400 }, hangOn));
      await expect.poll(() => service.output).toContain('refuses connections');
      const keptCount = () => hanging.filter(({ isKept }) => isKept()).length;
      await expect.poll(keptCount).toBeLessThan(180);
      expect(keptCount()).toBeGreaterThan(0);
      // Room for an operator, on a connection that another client has left.
      for (const socket of sockets.slice(0, 100)) socket.destroy();
      await expect
        .poll(() => sandbox.run(['call', 'ledger', 'append', '1', '1']).then(({ code }) => code))
        .toBe(0);
      await sandbox.ok(['publish', 'second', '-p', ledger]);
      expect(figureIn(await metrics(), 'open_descriptors')).toBeLessThan(openMax);
      for (const socket of sockets) socket.destroy();
      expect(await service.stop()).toBe(0);
    },
    60_000,
  );

  it('says in one line that these are too few to start', async () => {
    const { code, stderr } = await resultOf(spawnWithin(64));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Error: The system lets this process have 64 files open.*ulimit -n.*\n$/,
    );
  });
});
