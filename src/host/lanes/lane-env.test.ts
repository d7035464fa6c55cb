import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ModuleEnv } from '../../module/module-env.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { type EnvSource, LaneEnv } from './lane-env.ts';

/** A thread that reads the configuration as a lane does: once for each message. */
const lane = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.file).then(({ currentEnv }) => {
    const read = currentEnv(workerData.way);
    parentPort.on('message', (message) => {
      if (message === 'ask') workerData.way.port.postMessage(undefined);
      else parentPort.postMessage(read().values.URL);
    });
    parentPort.postMessage('ready');
  });
`;

const reader = { identity: databaseIdentity(5n), generation: 1, program: 'a'.repeat(64) };

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-env-way-'));
const built = path.join(folder, 'env-way.mjs');
beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL('./env-way.ts', import.meta.url))];
  await build({ entryPoints, outfile: built, bundle: true, platform: 'node', format: 'esm' });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A configuration that a test changes; it is decrypted as fast as the test says. */
class Source implements EnvSource {
  url = 'first';
  readonly #followers = new Set<() => void>();
  readCount = 0;
  delay: Promise<void> | undefined;

  async whole(): Promise<ModuleEnv> {
    const { url } = this;
    this.readCount += 1;
    await this.delay;
    return { version: 1, values: { URL: url }, secrets: [], unreadable: [] };
  }

  follow(_database: unknown, changed: () => void): () => void {
    this.#followers.add(changed);
    return () => void this.#followers.delete(changed);
  }

  get followers(): number {
    return this.#followers.size;
  }

  set(url: string): void {
    this.url = url;
    for (const changed of this.#followers) changed();
  }
}

describe('the configuration of a lane', () => {
  let thread: Worker | undefined;
  let env: LaneEnv | undefined;
  afterEach(async () => {
    env?.close();
    await thread?.terminate();
  });

  async function open(source: Source, broken: (message: string) => void = expect.unreachable) {
    env = new LaneEnv(source, reader, broken);
    const { way } = env;
    const file = pathToFileURL(built).href;
    thread = new Worker(lane, {
      eval: true,
      workerData: { way, file },
      transferList: [way.port],
    });
    const next = () => new Promise<string>((resolve) => thread?.once('message', resolve));
    expect(await next()).toBe('ready');
    return async () => {
      thread?.postMessage('read');
      return next();
    };
  }

  it('[living 4.3] is asked for when it has changed, and only then', async () => {
    const source = new Source();
    const read = await open(source);
    expect([await read(), await read(), source.readCount]).toEqual(['first', 'first', 1]);
    for (const url of ['second', 'third', 'fourth']) source.set(url);
    expect([await read(), source.readCount]).toEqual(['fourth', 2]);
  });

  it('[living 4.3] is read again when it changes while it is decrypted', async () => {
    const source = new Source();
    let go: () => void = () => undefined;
    source.delay = new Promise((resolve) => {
      go = resolve;
    });
    const read = await open(source);
    const reading = read();
    await vi.waitUntil(() => source.readCount === 1);
    source.set('second');
    go();
    expect(await reading).toBe('second');
  });

  it('[living 4.3] a lane that asks for what it has is ended', async () => {
    const source = new Source();
    const broken = vi.fn();
    const read = await open(source, broken);
    await read();
    expect(source.followers).toBe(1);
    thread?.postMessage('ask');
    await vi.waitUntil(() => broken.mock.calls.length > 0);
    expect(broken.mock.calls).toEqual([
      ['The lane of a procedure has broken: it asks for what it has'],
    ]);
    expect(source.followers).toBe(0);
  });
});
