/**
 * What the command line costs a person who waits for it: from its start to its end, less what an
 * empty program of Node takes, in the best of several runs. The bars are those of `[ease 5.1]`.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { startService } from '../src/service/start-service.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const command = path.join(root, 'dist/cli/main.js');
const shipped = new URL('../dist/service/index.js', import.meta.url).href;
const run = promisify(execFile);

/** Runs of each; of a smaller scale fewer, but one at least. */
const rounds = 15;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'command-bench-'));
  const started = (await import(shipped)) as { readonly startService: typeof startService };
  const service = await started.startService({
    listen: { host: '127.0.0.1', port: 0 },
    dataDirectory: path.join(folder, 'data'),
    logLevel: 'silent',
  });
  const common = ['--root-dir', path.join(folder, 'user')];
  const server = ['--server', `http://127.0.0.1:${service.address.port}`];
  try {
    const module = path.join(root, 'test/fixtures/modules/inn');
    await run(process.execPath, [command, ...common, 'publish', 'inn', '-p', module, ...server]);
    const count = Math.max(1, Math.ceil(rounds * Math.min(scale, 1)));
    const empty = await best(count, ['-e', '0']);
    const figure = async (name: string, words: readonly string[]): Promise<Figure> => {
      const millis = await best(count, [command, ...common, ...words]);
      return { name, unit: 'ms', value: Math.max(millis - empty, 0.1) };
    };
    return [
      { name: 'an empty program', unit: 'ms', value: empty },
      await figure('--help, own time (at most 120)', ['--help']),
      await figure('version, own time (at most 120)', ['version']),
      await figure('call, own time (at most 200)', ['call', 'inn', 'count_visit', ...server]),
      await figure('sql, own time (at most 200)', ['sql', 'inn', 'SELECT 1', ...server]),
    ];
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function best(count: number, args: readonly string[]): Promise<number> {
  let millis = Number.POSITIVE_INFINITY;
  for (let round = 0; round < count; round += 1) {
    const start = performance.now();
    await run(process.execPath, args);
    millis = Math.min(millis, performance.now() - start);
  }
  return millis;
}
