import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { measureProcess } from './process-figures.ts';

it('[operating] a disk that cannot be asked leaves the other figures', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-figures-'));
  const releases: (() => void)[] = [];
  const registry = measureProcess(folder, releases);
  expect(await registry.metrics()).toMatch(/^reducerdb_disk_bytes\{part="free"\} \d+$/m);
  rmSync(folder, { recursive: true });
  const text = await registry.metrics();
  expect(text).not.toContain('reducerdb_disk_bytes{');
  expect(text).toContain('reducerdb_event_loop_delay_seconds{');
  for (const release of releases) release();
});
