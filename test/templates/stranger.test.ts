import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, howToInstall } from '../browser/chromium.ts';
import { blocksOf } from '../docs/blocks.ts';
import { root } from '../service/harness.ts';
import { DevProcess } from './dev-process.ts';
import { hasRegistry, Stranger } from './packed.ts';
import { sharesNotes, sharesPublished } from './sharing.ts';

const missing = [
  ...(findChromium() === undefined ? [howToInstall] : []),
  ...((await hasRegistry()) ? [] : ['the registry of npm cannot be reached']),
];
if (missing.length > 0) console.warn(`the stranger's run is skipped: ${missing.join('; ')}`);

/** `TEST_SLOWNESS`: the factor for a machine that runs other tests at the same time. */
const minutesMax = 3 * Number(process.env.TEST_SLOWNESS ?? 1);

/** The commands of a document that lead to a live page: a block `sh stranger`. */
function commandsOf(document: string): readonly string[] {
  const blocks = blocksOf(readFileSync(path.join(root, document), 'utf8'));
  const found = blocks.filter(({ language, words }) => {
    return language === 'sh' && words[0] === 'stranger';
  });
  expect([document, found.length]).toEqual([document, 1]);
  return found.flatMap(({ text }) => text.split('\n'));
}

describe.skipIf(missing.length > 0)('a stranger', () => {
  let stranger: Stranger;
  beforeAll(async () => {
    stranger = await Stranger.arrive();
  }, 300_000);
  afterAll(() => stranger.leave());

  it('[console 3.7] comes from an empty folder to a page that two windows share', async () => {
    const commands = commandsOf('README.md');
    expect(commands.length).toBeLessThanOrEqual(5);
    const began = performance.now();
    const dev = new DevProcess(commands.join('\n'), stranger.folder, stranger.environment);
    try {
      const project = { stranger, folder: path.join(stranger.folder, 'my-app'), dev };
      await sharesNotes(project);
      expect((performance.now() - began) / 60_000).toBeLessThan(minutesMax);
      expect(dev.output).toContain('seeded by seed.ts');
      await sharesPublished(project);
    } finally {
      await dev.stop();
    }
  }, 900_000);
});

describe('the commands of a stranger', () => {
  it('[console 3.7] are the same in README.md and in the guide', () => {
    expect(commandsOf('docs/guide/first-app.md')).toEqual(commandsOf('README.md'));
  });
});
