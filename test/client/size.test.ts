import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
// @ts-expect-error: a script without types of its own
import { bundleSizes } from '../../scripts/bundle-size.mjs';

interface Size {
  readonly name: string;
  readonly bytes: number;
  readonly bytesMax: number;
  readonly modules: readonly string[];
  readonly text: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('what a page has to load', () => {
  it('[client-sdk 20.7] stays within its budget, without a module, the engine or Node in it', async () => {
    const sizes: Size[] = await bundleSizes(path.join(root, 'src/client/index.ts'));
    expect(sizes.map(({ name }) => name)).toEqual(['connect', 'generated bindings']);
    for (const { bytes, bytesMax, modules, text } of sizes) {
      expect(bytes).toBeLessThanOrEqual(bytesMax);
      const rooms = new Set(modules.map((file) => /src\/([a-z-]+)\//.exec(file)?.[1]));
      rooms.delete(undefined);
      const allowed = ['client', 'declare', 'protocol', 'schema', 'values'];
      expect([...rooms].filter((room) => !allowed.includes(room ?? ''))).toEqual([]);
      expect(text).not.toMatch(/node:|new Function|\beval\b|from"|require\(/);
    }
  });
});
