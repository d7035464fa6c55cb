import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, howToInstall } from '../browser/chromium.ts';
import { someOf } from '../support/share.ts';
import { DevProcess } from './dev-process.ts';
import { frontTemplates, Stranger } from './packed.ts';
import { type RunningProject, sharesGame, sharesNotes, sharesQuestions } from './sharing.ts';

// What needs no network: projects find the packages of this repository. `stranger.test.ts` installs
// one template from the registry, `npm run test:long -- templates` all of them.

const names = frontTemplates().map(({ name }) => name);

/** Templates whose types need no package but those of this repository. */
const checked: Readonly<Record<string, readonly string[]>> = {
  react: ['.'],
  vanilla: ['.'],
  game: ['.'],
  node: ['.'],
  agent: ['.', 'agent'],
};

const driven: Readonly<Record<string, (project: RunningProject) => Promise<void>>> = {
  react: sharesNotes,
  vanilla: sharesNotes,
  game: sharesGame,
  agent: (project) => sharesQuestions(project, false),
};

let stranger: Stranger;
const projectOf = (name: string) => path.join(stranger.folder, `my-${name}`);

beforeAll(async () => {
  stranger = await Stranger.arrive();
  await stranger.installOffline();
  for (const name of names) {
    const made = ['init', `my-${name}`, '--template', name];
    await stranger.run(stranger.folder, 'node_modules/.bin/reducerdb', ...made);
  }
}, 300_000);
afterAll(() => stranger.leave());

describe.each(names)('the template %s', (name) => {
  it('[console 3.6] is a whole project of its own name', () => {
    const project = projectOf(name);
    const files = filesOf(project);
    expect(files).toEqual(expect.arrayContaining(wholeProject));
    expect(files.filter((file) => /^module\/\w+\.test\.mjs$/.test(file))).toHaveLength(1);
    const read = (file: string) => readFileSync(path.join(project, file), 'utf8');
    for (const file of files) {
      expect([file, /\{\{(name|reducerdb)\}\}/.test(read(file))]).toEqual([file, false]);
      expect([file, read(file).endsWith('\n')]).toEqual([file, true]);
    }
    const manifest = JSON.parse(read('package.json'));
    expect([manifest.name, manifest.private]).toEqual([`my-${name}`, true]);
    expect(manifest.scripts).toMatchObject({ dev: 'reducerdb dev', test: 'node --test' });
    expect(path.resolve(project, manifest.dependencies.reducerdb.replace('file:', ''))).toBe(
      stranger.tarball,
    );
    expect(JSON.parse(read('service.json'))).toMatchObject({
      'module-path': './module',
      dev: { run: expect.stringMatching(/^(vite|next dev|tsx watch .*)$/) },
    });
    expect(JSON.parse(read('service.local.json'))).toEqual({ database: `my-${name}` });
    expect(read('.gitignore').split('\n')).toEqual(
      expect.arrayContaining(['node_modules/', '.reducerdb/', '*.local.json']),
    );
    const lines = read('README.md').split('\n');
    expect(lines.length).toBeLessThanOrEqual(46);
    expect(lines.slice(0, 8)).toEqual(expect.arrayContaining(['npm install', 'npm run dev']));
  });
});

describe('templates', () => {
  it.each(Object.entries(checked))(
    '[console 3.6] %s is typed from the module to what shows its rows',
    async (name, parts) => {
      const project = projectOf(name);
      const { generate } = JSON.parse(readFileSync(path.join(project, 'service.json'), 'utf8'));
      if (generate !== undefined) {
        await stranger.run(project, '../node_modules/.bin/reducerdb', 'generate');
      }
      for (const part of parts) {
        await stranger.run(project, '../node_modules/.bin/tsc', '--noEmit', '-p', part);
      }
    },
  );

  it('[console 3.6] have modules that build with types checked, and pass their tests', async () => {
    const modules = new Map(names.map((name) => [moduleOf(name), projectOf(name)]));
    // Those of the notes, of the agent and of the game: front ends share the first.
    expect(modules.size).toBe(3);
    for (const project of modules.values()) {
      const words = ['build', '--module-path', 'module'];
      const built = await stranger.run(project, '../node_modules/.bin/reducerdb', ...words);
      expect(built).not.toContain('not checked');
      expect(await stranger.run(project, 'npm', 'test')).toMatch(/^# fail 0$/m);
    }
  }, 300_000);

  if (findChromium() === undefined) console.warn(`pages of templates: ${howToInstall}`);
  it.skipIf(findChromium() === undefined).each(someOf(Object.entries(driven), 2))(
    '[console 3.6] %s shows a live page that two windows share',
    async (name, drive) => {
      const folder = projectOf(name);
      const dev = new DevProcess('npm run dev', folder, stranger.environment);
      try {
        await drive({ stranger, folder, dev });
        expect(dev.output).toContain('seeded by seed.ts');
      } finally {
        await dev.stop();
      }
    },
    300_000,
  );
});

/** All files of a module, as one text, whatever the project is called. */
function moduleOf(name: string): string {
  const project = projectOf(name);
  const inside = filesOf(project).filter((file) => /^module\/(?!dist\/)/.test(file));
  const texts = inside.map((file) => `${file}\n${readFileSync(path.join(project, file), 'utf8')}`);
  return texts.join('\n').replaceAll(`my-${name}`, 'my-app');
}

const wholeProject = [
  '.gitignore',
  'README.md',
  'module/package.json',
  'module/src/index.ts',
  'module/tsconfig.json',
  'package.json',
  'seed.ts',
  'service.json',
  'service.local.json',
  'tsconfig.json',
];

/** All files of a project, but for what is made. */
function filesOf(project: string): readonly string[] {
  return readdirSync(project, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(project, path.join(entry.parentPath, entry.name)))
    .map((file) => file.split(path.sep).join('/'))
    .sort();
}
