import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { someOf } from './support/share.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const benchmarksIn = (folder: string): string[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.bench.ts'))
    .map((name) => `${folder}/${name}`);

/**
 * Benchmarks run tiny here, so that none of them rots; `npm run bench` runs them whole. They take
 * seconds however tiny, so that a quarter of those of rooms run, and an eighth of those of a whole
 * service; `npm run test:long -- turns` runs all.
 */
describe('the benchmarks', () => {
  it.each([...someOf(benchmarksIn('src')), ...someOf(benchmarksIn('bench'), 8)])(
    '%s gives figures',
    async (file) => {
      const { benchmarks } = (await import(path.join(root, file))) as {
        benchmarks: (scale: number) => Figure[] | Promise<Figure[]>;
      };
      const figures = await benchmarks(0.002);
      expect(figures.length).toBeGreaterThan(0);
      for (const { name, unit, value } of figures) {
        expect(name).toMatch(/\S/);
        expect(unit).toMatch(/\S/);
        expect(value).toBeGreaterThan(0);
      }
    },
    240_000,
  );

  it('of two checkouts run by turns and give the ratio of each figure', async () => {
    const script = path.join(root, 'scripts/bench.mjs');
    const args = ['native', '--scale', '0.002', '--against', root, '--rounds', '1'];
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...args]);
    const lines = stdout.trim().split('\n');
    for (const line of lines) expect(line).toMatch(/ here, .* there .*; ratio [\d.]+ \([\d.]+ to /);
    expect(lines[0]).toContain('src/values/native.bench.ts: ');
  });
});
