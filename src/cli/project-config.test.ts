import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { onlyServer, readProjectConfig } from './project-config.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-project-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Writes the layers and reads them; a text is written as it is. */
function read(files: Record<string, unknown>, env?: string, directory = folder) {
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(path.join(folder, name), text);
  }
  return readProjectConfig(directory, env);
}

const targets = (files: Record<string, unknown>, env?: string) => read(files, env)?.targets;

describe('the layers of a project configuration', () => {
  const layers = {
    'service.json': { database: 'main', server: 'one', 'break-clients': true },
    'service.local.json': { database: 'mine' },
    'service.dev.json': { server: 'two', database: 'dev' },
    'service.dev.local.json': { database: 'my-dev' },
    'service.prod.json': { server: 'three' },
  };

  it('[cli 4.2] replace keys: main, local, environment, local environment', () => {
    expect(targets(layers)).toMatchObject([{ database: 'mine', server: 'one' }]);
    expect(targets(layers, 'dev')).toMatchObject([{ database: 'my-dev', server: 'two' }]);
    expect(targets(layers, 'prod')).toMatchObject([{ database: 'mine', server: 'three' }]);
    expect(targets(layers, 'none')).toMatchObject([{ database: 'mine', breakClients: true }]);
  });

  it('[cli 4.2] replace whole values, and children pairwise up to the shorter list', () => {
    expect(
      targets({
        'service.json': {
          'module-path': './a',
          children: [{ database: 'x', server: 'one' }, { database: 'y' }],
        },
        'service.local.json': {
          children: [{ database: 'mine' }, { server: 'two' }, { database: 'no' }],
        },
      }),
    ).toMatchObject([
      { database: undefined },
      { database: 'mine', server: 'one' },
      { database: 'y', server: 'two' },
    ]);
  });

  it('[cli 4.2] are found in the folders above, with paths relative to them', () => {
    const nested = path.join(folder, 'a/b');
    mkdirSync(nested, { recursive: true });
    const config = read({ 'service.json': { 'module-path': './mod' } }, undefined, nested);
    expect(config?.file).toBe(path.join(folder, 'service.json'));
    expect(config?.targets[0]?.modulePath).toBe(path.join(folder, 'mod'));
    expect(readProjectConfig(tmpdir(), undefined)).toBeUndefined();
  });

  it('[cli 4.2] are JSON with comments and trailing commas', () => {
    expect(targets({ 'service.json': "{ // which\n database: 'x', }" })).toMatchObject([
      { database: 'x' },
    ]);
  });
});

describe('children', () => {
  it('[cli 4.2] take every key of their parent but database, generate, children and dev', () => {
    expect(
      targets({
        'service.json': {
          database: 'parent',
          server: 'one',
          'module-path': './a',
          'break-clients': true,
          anonymous: true,
          generate: [],
          dev: { run: 'x' },
          children: [{}, { database: 'child', server: 'two', children: [{ database: 'grand' }] }],
        },
      }),
    ).toMatchObject([
      { database: 'parent', server: 'one' },
      { database: undefined, server: 'one', breakClients: true, anonymous: true },
      { database: 'child', server: 'two', modulePath: path.join(folder, 'a') },
      { database: 'grand', server: 'two', modulePath: path.join(folder, 'a') },
    ]);
  });

  it('[cli 4.2] drop an inherited source when they name another', () => {
    const [, child] =
      targets({
        'service.json': { 'module-path': './a', children: [{ 'js-path': './b.js' }] },
      }) ?? [];
    expect(child).toMatchObject({ modulePath: undefined, jsPath: path.join(folder, 'b.js') });
    const [layered] =
      targets({
        'service.json': { 'js-path': './b.js' },
        'service.local.json': { 'module-path': './a' },
      }) ?? [];
    expect(layered).toMatchObject({ modulePath: path.join(folder, 'a'), jsPath: undefined });
  });
});

describe('keys', () => {
  it('[cli 4.2] are taken in both spellings', () => {
    expect(targets({ 'service.json': { 'js-path': 'a.js', anonymous: true } })).toEqual(
      targets({ 'service.json': { 'js-file': 'a.js', 'anon-identity': true } }),
    );
  });

  it('[cli 4.2] that are unknown are refused with the known ones', () => {
    expect(() => read({ 'service.json': { databse: 'x' } })).toThrow(
      /Config key 'databse' is not supported in the config file\. Available keys: database, server/,
    );
    expect(() => read({ 'service.json': { children: [{ nam: 'x' }] } })).toThrow(/'nam'/);
    expect(() => read({ 'service.json': { dev: { walk: 'x' } } })).toThrow(/'dev\.walk'/);
  });

  it('[rulings 1.2] bind no host names: that is said, with the setting that does', () => {
    for (const config of [{ hosts: ['a.example.com'] }, { children: [{ hosts: [] }] }]) {
      expect(() => read({ 'service.json': config })).toThrow(
        '`hosts` is not a key of the project: host names are bound by the operator of the ' +
          'service, in its config.toml, below [apps.hosts]: "app.example.com" = "my-db"',
      );
    }
  });

  it('[living 3.4] name a folder of static files, which children share', () => {
    const config = { static: 'dist', children: [{ database: 'a' }, { static: 'b' }] };
    const folders = targets({ 'service.json': config })?.map((target) => target.static);
    expect(folders).toEqual(['dist', 'dist', 'b'].map((name) => path.join(folder, name)));
  });

  it('[cli 4.2] of the wrong type are refused', () => {
    for (const [config, words] of [
      [{ database: 7 }, 'database must be a string'],
      [{ 'break-clients': 'yes' }, 'break-clients must be true or false'],
      [{ children: {} }, 'children must be an array'],
      [[], 'must contain one object'],
      ['{', 'is not JSON5'],
    ] as const) {
      expect(() => read({ 'service.json': config })).toThrow(words);
    }
  });

  it('[cli 4.2] of one target may name only one source', () => {
    expect(() => read({ 'service.json': { 'module-path': 'a', 'js-path': 'b' } })).toThrow(
      'module-path and js-path cannot be combined',
    );
  });
});

describe('the only server', () => {
  it.each([
    [{ server: 'one' }, 'one'],
    [{ server: 'one', children: [{ database: 'x' }] }, 'one'],
    [{ server: 'one', children: [{ server: 'two' }] }, undefined],
    [{ children: [{ server: 'one' }, { server: 'one' }] }, 'one'],
    [{ database: 'x' }, undefined],
  ])('[interface 4.5] of %j is %j', (config, server) => {
    const project = read({ 'service.json': config });
    expect(project && onlyServer(project)).toBe(server);
  });
});
