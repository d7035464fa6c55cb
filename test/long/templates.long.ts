import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DevProcess } from '../templates/dev-process.ts';
import { frontTemplates, Stranger } from '../templates/packed.ts';
import {
  printsRows,
  type RunningProject,
  sharesGame,
  sharesNotes,
  sharesQuestions,
} from '../templates/sharing.ts';

// Each template as a stranger gets it: from the packed file, with its packages from the registry of
// npm. It needs a network and Chromium.

const driven: Readonly<Record<string, (project: RunningProject) => Promise<void>>> = {
  react: sharesNotes,
  vue: sharesNotes,
  svelte: sharesNotes,
  solid: sharesNotes,
  next: sharesNotes,
  vanilla: sharesNotes,
  node: printsRows,
  agent: (project) => sharesQuestions(project, true),
  game: sharesGame,
};

let stranger: Stranger;

beforeAll(async () => {
  stranger = await Stranger.arrive();
  const { folder, tarball } = stranger;
  await stranger.run(folder, 'npm', 'install', '--no-audit', '--no-fund', tarball);
});
afterAll(() => stranger.leave());

describe('templates from the packed file', () => {
  it('[console 3.6] are all tried here', () => {
    expect(frontTemplates().map(({ name }) => name)).toEqual(Object.keys(driven));
  });

  it.each(Object.entries(driven))(
    '[console 3.6] %s is installed, tested, built, started and driven',
    async (name, drive) => {
      const { folder, environment } = stranger;
      const project = path.join(folder, `my-${name}`);
      await stranger.run(folder, 'npx', 'reducerdb', 'init', `my-${name}`, '--template', name);
      await stranger.run(project, 'npm', 'install', '--no-audit', '--no-fund');
      expect(await stranger.run(project, 'npm', 'test')).toMatch(/^# fail 0$/m);
      const dev = new DevProcess('npm run dev', project, environment);
      try {
        await drive({ stranger, folder: project, dev });
        expect(dev.output).toContain('seeded by seed.ts');
        expect(dev.output).not.toContain('type errors');
      } finally {
        await dev.stop();
      }
      await stranger.run(project, 'npm', 'run', 'build');
    },
  );
});
