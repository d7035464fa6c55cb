import { describe, expect, it } from 'vitest';
import { someSeeds } from '../support/share.ts';
import { shopOpener } from '../support/shop.ts';
import { runPreviewLab } from './preview-lab.ts';

const placements = [
  ['local', someSeeds(1, 4)],
  ['thread', [7]],
] as const;

describe.each(placements)('previews of random work upon random modules (%s)', (kind, seeds) => {
  it.each(seeds)('[mcp B19] leave no trace, and come true (seed %i)', async (seed) => {
    const report = await runPreviewLab(shopOpener(kind), seed, 40);
    expect(report.previews).toBeGreaterThan(40);
    expect(report.changed).toBeGreaterThan(0);
    expect(report.applied).toBeGreaterThan(0);
  });
});
