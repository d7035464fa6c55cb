import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { fixture } from './cli-support.ts';
import { freePort, type RunningService, Sandbox } from './harness.ts';
import { SocketClient } from './socket-client.ts';

let sandbox: Sandbox;
let running: RunningService[];
beforeEach(async () => {
  sandbox = await Sandbox.make();
  running = [];
});
afterEach(async () => {
  for (const { child, ended } of running) {
    child.kill('SIGKILL');
    await ended;
  }
  sandbox.remove();
});

async function start(flags: readonly string[] = [], port = sandbox.port) {
  const service = await sandbox.startAt(port, flags);
  running.push(service);
  return service;
}

describe('start', () => {
  it('[cli 8] says what it is, where its data is, and where it listens', async () => {
    const service = await start();
    // It answers a little before it says so.
    await expect.poll(() => service.output).toContain(`listening on ${sandbox.url}\n`);
    const lines = service.output.split('\n');
    expect(lines[0]).toMatch(/^reducerdb version: \d/);
    expect(lines[1]).toMatch(/^reducerdb path: .*main\.js$/);
    expect(lines[2]).toBe(
      `database running in data directory ${path.join(sandbox.folder, 'root/data')}`,
    );
    expect(lines[3]).toBe(`listening on ${sandbox.url}`);
    const where = `console: ${sandbox.url}/console/ (to sign in, run \`reducerdb console\`)\n`;
    await expect.poll(() => service.output).toContain(where);
    expect(await service.stop()).toBe(0);
  });

  it('[cli 8] fails when the port is in use', async () => {
    const taken = createServer().listen(sandbox.port, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const listen = ['--listen-addr', `127.0.0.1:${sandbox.port}`];
    for (const flags of [[], ['--non-interactive'], ['--in-memory']]) {
      const { code, stderr } = await sandbox.run(['start', ...listen, ...flags]);
      expect(code).toBe(1);
      expect(stderr).toContain(
        `Error: Port ${sandbox.port} is already in use. Please free up the port or specify a ` +
          'different port with --listen-addr.\n',
      );
    }
    taken.close();
    // Nothing is left locked.
    expect(await (await start()).stop()).toBe(0);
  });

  it('[cli 8] fails when another service has the data folder, but not a dead one', async () => {
    const service = await start();
    const address = `127.0.0.1:${await freePort()}`;
    const second = await sandbox.run(['start', '--listen-addr', address]);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(
      new RegExp(
        'Error: cannot take lock on database; .*already exists ' +
          `\\(owned by pid ${service.child.pid}\\)`,
      ),
    );
    expect(await service.stop('SIGKILL')).toBeNull();
    expect(await (await start()).stop()).toBe(0);
  });

  it('[auth 3.1] fails, and makes no keys, when those of its data are gone', async () => {
    const flags = ['--data-dir', 'my-data'];
    expect(await (await start(flags)).stop()).toBe(0);
    const keys = path.join(sandbox.folder, 'my-data/keys');
    renameSync(keys, `${keys}-elsewhere`);
    const { code, stderr } = await sandbox.run(['start', ...flags]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: The tokens of the data in .*my-data were signed with the key /);
    expect(stderr).toContain('there are no keys. Put that key pair back, or name its folder');
    expect(existsSync(keys)).toBe(false);
    renameSync(`${keys}-elsewhere`, keys);
    expect(await (await start(flags)).stop()).toBe(0);
  });

  it('[cli 8] keeps keys beside the data when it is told where the data is', async () => {
    const flags = ['--data-dir', 'my-data'];
    const service = await start(flags);
    const token = await newToken();
    expect(await service.stop()).toBe(0);
    expect(existsSync(path.join(sandbox.folder, 'my-data/keys'))).toBe(true);
    await start(flags);
    const answer = await fetch(`${sandbox.url}/v1/identity/${'0'.repeat(64)}/verify`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.status).not.toBe(401);
  });

  it('[cli 8] asks who may publish before other machines can connect', async () => {
    const args = ['start', '--listen-addr', `0.0.0.0:${sandbox.port}`];
    const { code, stderr } = await sandbox.run(args);
    expect(code).toBe(1);
    expect(stderr).toContain('say first who may publish databases');
    const child = sandbox.spawn([...args, '--publish-policy', 'authenticated']);
    await expect
      .poll(
        () =>
          fetch(`${sandbox.url}/v1/ping`).then(
            ({ status }) => status,
            () => 0,
          ),
        {
          timeout: 10_000,
        },
      )
      .toBe(200);
    const anonymous = await fetch(`${sandbox.url}/v1/database/x?host_type=Js`, { method: 'PUT' });
    expect(anonymous.status).toBe(401);
    child.kill('SIGTERM');
    await new Promise((resolve) => child.on('close', resolve));
  });

  it.each([
    [['--listen-addr', 'nonsense'], 2, '--listen-addr: `nonsense` is not an address to listen on'],
    [['--listen-addr', '127.0.0.1:70000'], 2, 'is not an address to listen on'],
    [['--publish-policy', 'friends'], 2, '--publish-policy: `friends` is not a publish policy'],
    [['--publish-policy', 'owners-list:bob'], 2, 'owners-list:<identity,...>'],
    [['--operator', 'me'], 2, '--operator: `me` is not an identity'],
    [['--tls-cert', 'cert.pem'], 1, '--tls-cert and --tls-key belong together'],
    [
      ['--trusted-proxy', 'gateway'],
      2,
      '--trusted-proxy: `gateway` is neither an address nor a network',
    ],
    [['--log-level', 'loud'], 2, '--log-level: `loud` is none of trace, debug'],
    [['--call-timeout', '0'], 2, '--call-timeout: `0` is not a duration, such as `15s`'],
    [['--heap-limit', 'x'], 2, '--heap-limit: `x` is not'],
    [['--incoming-queue-length', '-1'], 2, '--incoming-queue-length: `-1` is not'],
    [['--idle-timeout', '15000'], 1, '--ping-interval (15000 ms) must be below --idle-timeout'],
  ])('[cli 8] refuses %j', async (flags, code, words) => {
    const result = await sandbox.run(['start', ...flags]);
    expect(result).toMatchObject({ code });
    expect(result.stderr).toContain(words);
  });

  it('[cli 8.2, websocket 11] takes the bounds of WebSockets', async () => {
    await start(['--ping-interval', '40', '--idle-timeout', '300', '--incoming-queue-length', '5']);
    await sandbox.ok(['publish', 'ledger', '-p', fixture('ledger')]);
    const client = await SocketClient.open(sandbox.url, 'ledger');
    const pings: unknown[] = [];
    client.socket.on('ping', (data) => pings.push(data));
    await expect.poll(() => pings.length).toBeGreaterThan(2);
    client.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 600));
    client.socket.resume();
    expect((await client.ended).code).toBe(1006);
    const flood = await SocketClient.open(sandbox.url, 'ledger', {
      protocols: ['v3.bsatn.spacetimedb'],
    });
    const query = encodeClientMessage({ kind: 'oneOffQuery', requestId: 1, query: 'SELECT' });
    flood.send(Buffer.concat(Array.from({ length: 50 }, () => query)));
    expect(await flood.ended).toEqual({ code: 1013, reason: 'too many requests' });
  });

  it('[cli 8.3] keeps databases in memory, and loses them, when told so', async () => {
    const service = await start(['--in-memory']);
    expect(service.output).toContain('databases are kept in memory');
    await sandbox.ok(['publish', 'fleeting', '-p', fixture('ledger')]);
    await sandbox.ok(['call', 'fleeting', 'append', '1', '1']);
    expect(await service.stop()).toBe(0);
    await start(['--in-memory']);
    expect((await fetch(`${sandbox.url}/v1/database/fleeting`)).status).toBe(404);
  });
});

describe('verify', () => {
  it('[rulings 6.2] reads the logs of a stopped service, and tells a damaged one', async () => {
    const service = await start();
    await sandbox.ok(['publish', 'ledger', '-p', fixture('ledger')]);
    await sandbox.ok(['call', 'ledger', 'append', '1', '1']);
    const busy = await sandbox.run(['verify']);
    expect(busy).toMatchObject({ code: 1, stdout: '' });
    expect(busy.stderr).toContain('Stop the service first.');
    expect(await service.stop()).toBe(0);

    const intact = await sandbox.ok(['verify']);
    expect(intact).toMatch(/^ LOG +\| STATE +\| COMMITS \| HISTORY +\| SNAPSHOTS \| DETAIL \n/);
    expect(intact).toMatch(/^ registry +\| intact +\| \d+ +\| 1-\d+ +\| \d+ /m);
    expect(intact).toMatch(/^ databases\/c200[0-9a-f]{60}\/log-\d+ +\| intact +\| \d+ /m);

    const data = path.join(sandbox.folder, 'root/data');
    const log = intact.match(/databases\/\S+/)?.[0] ?? '';
    const folder = path.join(data, log);
    const segment = path.join(folder, readdirSync(folder).sort()[0] ?? '');
    const bytes = readFileSync(segment);
    bytes[200] = (bytes[200] ?? 0) ^ 1;
    writeFileSync(segment, bytes);
    const damaged = await sandbox.run(['verify', '--data-dir', data]);
    expect(damaged.code).toBe(1);
    expect(damaged.stdout).toMatch(/^ databases\/\S+ +\| damaged +\| /m);
    expect(damaged.stderr).toContain('Error: 1 of 2 logs are damaged.');
    // A file of another program is nothing to check.
    writeFileSync(path.join(data, 'databases', '.DS_Store'), '');
    expect((await sandbox.run(['verify', '--data-dir', data])).stderr).toBe(damaged.stderr);
    for (const folder of ['nowhere', '.']) {
      const absent = await sandbox.run(['verify', '--data-dir', folder]);
      expect(absent.code).toBe(1);
      expect(absent.stderr).toMatch(/^Error: There is no data in .* with --data-dir\.\n$/);
    }
  });

  it('[durability 5] a damaged registry stops the start, with its place and no stack', async () => {
    expect(await (await start()).stop()).toBe(0);
    const registry = path.join(sandbox.folder, 'root/data/registry');
    const segment = path.join(registry, readdirSync(registry).sort()[0] ?? '');
    const bytes = readFileSync(segment);
    bytes[200] = (bytes[200] ?? 0) ^ 1;
    writeFileSync(segment, bytes);
    const { code, stderr } = await sandbox.run(['start', '--listen-addr', '127.0.0.1:0']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/"msg":"The registry no longer serves: .*log is damaged/);
    const [line, ...more] = stderr.slice(stderr.indexOf('Error: ')).split('\n');
    expect(line).toMatch(/^Error: .*registry: .*log is damaged.*position \d+.*reducerdb verify/);
    expect(more).toEqual(['']);
  });
});

async function newToken(): Promise<string> {
  const answer = await fetch(`${sandbox.url}/v1/identity`, { method: 'POST' });
  return ((await answer.json()) as { token: string }).token;
}

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '[cli 8] %s under load loses nothing that was accepted, and exits with 0',
    async (signal) => {
      const service = await start();
      await sandbox.ok(['publish', 'ledger', '-p', fixture('ledger')]);
      const load = Array.from({ length: 12 }, (_, writer) => new Writer(sandbox.url, writer));
      const writing = Promise.all(load.map((writer) => writer.write()));
      const follower = sandbox.spawn(['logs', 'ledger', '-f']);
      const followed = new Promise((resolve) => follower.on('close', resolve));
      await new Promise((resolve) => follower.stdout?.once('data', resolve));
      const acknowledged = () => load.flatMap((writer) => writer.acknowledged);
      await expect.poll(() => acknowledged().length).toBeGreaterThan(12);

      const started = performance.now();
      expect(await service.stop(signal)).toBe(0);
      const millis = performance.now() - started;
      await writing;
      expect(await followed).toBe(0);
      // Clients that keep their connections do not hold it up until the limit.
      expect(millis).toBeLessThan(10_000);
      for (const writer of load) expect(writer.refusals).toEqual([]);

      await start();
      const statement = 'SELECT writer, number FROM entry';
      const text = await sandbox.ok(['sql', 'ledger', statement, '--format', 'json']);
      const rows = new Set(JSON.parse(text)[0].rows.map((row: number[]) => row.join('/')));
      expect(acknowledged().filter((key) => !rows.has(key))).toEqual([]);
      // What was not answered may be there or not; what nobody asked for is not.
      const asked = new Set(load.flatMap((writer) => writer.asked));
      expect([...rows].filter((key) => !asked.has(key as string))).toEqual([]);
    },
    60_000,
  );

  it('[cli 8] a second one ends it at once', async () => {
    const service = await start();
    await sandbox.ok(['publish', 'ledger', '-p', fixture('ledger')]);
    // A request whose body never comes holds the first one up.
    const open = httpRequest(`${sandbox.url}/v1/database/ledger/sql`, {
      method: 'POST',
      headers: { 'content-length': '10' },
    });
    open.on('error', () => {});
    open.write('S');
    await new Promise((resolve) => setTimeout(resolve, 200));
    service.child.kill('SIGTERM');
    await expect.poll(() => service.output).toContain('stopping');
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(1);
  });
});

/** Appends as fast as it is answered, over one connection, until the service is gone. */
class Writer {
  readonly asked: string[] = [];
  readonly acknowledged: string[] = [];
  /** Answers that neither accept nor say that the service is stopping. */
  readonly refusals: string[] = [];
  readonly #url: string;
  readonly #writer: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string, writer: number) {
    this.#url = `${url}/v1/database/ledger/call/append?confirmed=${writer % 2 === 0}`;
    this.#writer = writer;
  }

  async write(): Promise<void> {
    for (let number = 1; ; number += 1) {
      const key = `${this.#writer}/${number}`;
      this.asked.push(key);
      const answer = await this.#append(number);
      if (answer === undefined || answer.status === 503) break;
      if (answer.status === 200) this.acknowledged.push(key);
      else this.refusals.push(`${answer.status} ${answer.text}`);
    }
    this.#agent.destroy();
  }

  /** `undefined`: the connection broke, or there is no service any more. */
  #append(number: number): Promise<{ status: number; text: string } | undefined> {
    return new Promise((resolve) => {
      const headers = { 'content-type': 'application/json' };
      const options = { method: 'POST', headers, agent: this.#agent };
      const outgoing = httpRequest(this.#url, options, async (incoming) => {
        let text = '';
        try {
          for await (const chunk of incoming) text += chunk;
          resolve({ status: incoming.statusCode ?? 0, text });
        } catch {
          resolve(undefined);
        }
      });
      outgoing.on('error', () => resolve(undefined));
      outgoing.end(JSON.stringify([this.#writer, number]));
    });
  }
}
