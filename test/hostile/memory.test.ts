import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { present } from '../../src/assert.ts';
import { buildModule } from '../../src/bundle/build-module.ts';
import { someOf } from '../support/share.ts';
import { hostileSource } from './programs.ts';

const mebibyte = 1024 * 1024;

/** Bodies of functions that take memory until they are ended, each in a way of its own. */
const eaters: Readonly<Record<string, string>> = {
  objects: 'const a = []; for (;;) a.push({ at: a.length, list: [a.length] });',
  buffers: 'const a = []; for (;;) a.push(new Uint8Array(2 ** 20).fill(1));',
  texts: "const a = []; for (;;) a.push(('x' + a.length).repeat(2 ** 18).toUpperCase());",
  'arrays that double': 'let a = [1, 2, 3]; for (;;) a = [...a, ...a];',
  'a map': 'const m = new Map(); for (let n = 0; ; n += 1) m.set(n, { n });',
  'copies of buffers': 'const a = [new Uint8Array(2 ** 24)]; for (;;) a.push(a[0].with(0, 1));',
};

/** One process; a database that computes and one that eats. The process is the same to both. */
describe('memory of a service with a thread for each database', () => {
  let folder: string;
  let child: ChildProcess;
  let url: string;
  /** Steps of `compute` that take two seconds or more. */
  let steps = 2 ** 24;

  const sql = async (database: string, statement: string) => {
    const where = `${url}/v1/database/${database}/sql`;
    const answer = await fetch(where, { method: 'POST', body: statement });
    return { status: answer.status, text: await answer.text() };
  };
  const call = async (database: string, reducer: string, args: unknown[]) => {
    const answer = await fetch(`${url}/v1/database/${database}/call/${reducer}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(args),
    });
    const hint = decodeURIComponent(answer.headers.get('reducerdb-error-hint') ?? '');
    return { status: answer.status, text: `${await answer.text()} ${hint}`.trimEnd() };
  };
  const compute = (count = steps) => {
    const code = `let x = 1; for (let n = 0; n < ${count}; n += 1) x = (x * 31 + n) | 0;`;
    const began = performance.now();
    const isOver = { now: false };
    const outcome = call('computes', 'attack', [code]).then((answer) => {
      isOver.now = true;
      return { ...answer, millis: performance.now() - began };
    });
    return { outcome, isOver };
  };

  beforeAll(async () => {
    const dist = fileURLToPath(new URL('../../dist', import.meta.url));
    if (!existsSync(dist)) throw new Error('dist is missing: run `npm run build` first');
    folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-memory-'));
    const script = fileURLToPath(new URL('bombed-service.mjs', import.meta.url));
    const budget = JSON.stringify({ callMillisMax: 200_000, callBufferBytesMax: 200 * mebibyte });
    child = fork(script, [path.join(folder, 'data'), budget], { cwd: folder, execArgv: [] });
    const first = new Promise((resolve) => child.once('message', resolve));
    url = ((await first) as { url: string }).url;
    const body = new Uint8Array((await buildModule(hostileSource('runs-code'))).program);
    for (const name of ['computes', 'eats']) {
      const where = `${url}/v1/database/${name}?host_type=Js`;
      expect((await fetch(where, { method: 'PUT', body })).status).toBe(200);
      expect((await call(name, 'write', ['before'])).status).toBe(200);
    }
    for (;;) {
      const { millis } = await compute().outcome;
      if (millis > 2_000) break;
      steps *= 2;
    }
  }, 120_000);
  afterAll(() => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  it('ends the call that eats, round by round, and never the one that computes', async () => {
    const rounds = someOf(Object.entries(eaters), 2);
    let count = steps;
    while (rounds.length > 0) {
      const computing = compute(count);
      // Begun first, it is the call that runs longest.
      await new Promise((resolve) => setTimeout(resolve, 100));
      while (rounds.length > 0 && !computing.isOver.now) {
        const [name, code] = present(rounds.at(-1), 'a round is left');
        const eaten = await call('eats', 'attack', [code]);
        expect(eaten.text, name).toContain('held more than 200 MiB of memory and was stopped');
        // Otherwise it had ended before, and this round is played again beside a longer call.
        if (!computing.isOver.now) rounds.pop();
        else count *= 2;
      }
      expect(await computing.outcome).toMatchObject({ status: 200 });
    }
    expect((await call('eats', 'write', ['after'])).status).toBe(200);
  }, 240_000);

  it('ends no call for what a stranger uploads and never finishes', async () => {
    for (let isSeen = false, count = steps; !isSeen; count *= 2) {
      const computing = compute(count);
      const bodies = Array.from({ length: 9 }, () => upload(url, 62 * mebibyte));
      const uploads = await Promise.all(bodies);
      // A call that was over before proves nothing.
      isSeen = !computing.isOver.now;
      expect(await computing.outcome).toMatchObject({ status: 200 });
      for (const socket of uploads) socket.destroy();
    }
  }, 240_000);

  it('ends no call for the memory of a statement on another database', async () => {
    for (let batch = 0; batch < 4; batch += 1) {
      expect((await call('eats', 'fill', ['y'.repeat(200), 40_000])).status).toBe(200);
    }
    const computing = compute();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const sorting = 'SELECT text, id FROM note ORDER BY text, id DESC LIMIT 5';
    const grouping = 'SELECT text, COUNT(*) AS n FROM note GROUP BY text LIMIT 5';
    do {
      for (const statement of [sorting, grouping]) await sql('eats', statement);
    } while (!computing.isOver.now);
    expect(await computing.outcome).toMatchObject({ status: 200 });
  }, 120_000);

  it('ends no call for rows that another database takes in', async () => {
    const computing = compute();
    do {
      expect((await call('eats', 'fill', ['z'.repeat(10_000), 2_000])).status).toBe(200);
    } while (!computing.isOver.now);
    expect(await computing.outcome).toMatchObject({ status: 200 });
  }, 120_000);
});

/** Sends all of a body but its end. Resolves when it is sent, or the service has enough of it. */
function upload(url: string, bytes: number): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', reject);
    socket.on('close', () => resolve(socket));
    socket.write(
      `PUT /v1/database/mine?host_type=Js HTTP/1.1\r\nhost: ${hostname}\r\n` +
        `content-length: ${bytes}\r\n\r\n`,
    );
    socket.write(Buffer.alloc(bytes - 1, 'a'), () => resolve(socket));
  });
}
