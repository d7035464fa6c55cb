import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../src/bundle/build-module.ts';
import { readDocs } from '../src/bundle/program-docs.ts';
import { callerIdentity } from '../src/values/identity-roles.ts';
import { RunningModule } from './support/running-module.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-guide-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The programs of the guide. A block marked `ts`, perhaps with a file name, is a whole program;
 * `ts fragment` is added at its end, `ts body` is the body of one more reducer of it.
 */
function programsOf(text: string): { file: string; source: string }[] {
  const programs: { file: string; source: string }[] = [];
  for (const [, info = '', code = ''] of text.matchAll(/^```ts *(.*)\n([\s\S]*?)^```$/gm)) {
    const last = programs.at(-1);
    if (info === 'fragment' || info === 'body') {
      if (last === undefined) throw new Error(`${info} before any program`);
      const name = `body${last.source.length}`;
      last.source +=
        info === 'fragment' ? code : `export const ${name} = db.reducer((ctx) => {\n${code}});\n`;
    } else {
      programs.push({ file: info === '' ? `program${programs.length}.ts` : info, source: code });
    }
  }
  return programs;
}

const guide = readFileSync(path.join(root, 'docs/guide/modules.md'), 'utf8');
const programs = programsOf(guide);

describe('the guide to modules', () => {
  beforeAll(() => {
    writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
    for (const { file, source } of programs) writeFileSync(path.join(folder, file), source);
    const settings = {
      extends: path.join(root, 'examples/chat/tsconfig.json'),
      compilerOptions: {
        paths: { 'reducerdb/server': [path.join(root, 'src/server/index.ts')] },
      },
      include: [folder, path.join(root, 'src/engine-globals.d.ts')],
    };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(settings));
  });

  it('has programs that compile', async () => {
    expect(programs.length).toBeGreaterThan(4);
    const tsc = path.join(
      path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
      'bin/tsc',
    );
    const run = promisify(execFile)(process.execPath, [tsc, '-p', folder]);
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });

  it.each(programs.map(({ file }) => file))('has a program that loads: %s', async (file) => {
    const { raw } = await RunningModule.of(path.join(folder, file));
    expect(raw.reducers.length).toBeGreaterThan(0);
  });

  it('says truly what the views of guilds give', async () => {
    const guild = await RunningModule.of(path.join(folder, 'guild.ts'));
    guild.linesOf('found', [1, 'Owls'], { sender: callerIdentity(7n) });
    expect(guild.view('myGuild', 7n).rows).toEqual([[[7n], 1, 10n]]);
    expect(guild.view('myGuild', 8n).rows).toEqual([]);
    expect(guild.view('guildSizes').rows).toEqual([[1, 1n]]);
    const text = 'SELECT * FROM "guild" WHERE "guild"."open" = TRUE';
    expect(guild.view('openGuilds').outcome).toMatchObject({ kind: 'sql', text });
  });

  it('says truly what becomes of doc comments', async () => {
    const docs = readDocs((await buildModule(path.join(folder, 'library.ts'))).program);
    expect(docs.tables.get('book')).toEqual({
      text: 'Books that the library owns, lent or not.',
      parts: new Map([['lentTo', 'Absent while the book stands on its shelf.']]),
    });
    expect(docs.functions.get('lend')).toEqual({
      text:
        'Lends a book to the caller, for four weeks.\n\n' +
        'Returns: how many books the caller now has',
      parts: new Map([['isbn', 'thirteen digits, without dashes']]),
    });
  });

  it('[living 3.5] says truly which requests are signed, in the sandbox', async () => {
    const deliveries = await RunningModule.of(path.join(folder, 'deliveries.ts'));
    const code = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    const right = deliveries.run('delivered', [`sha256=${code}`, 'Hello, World!']);
    expect(right.outcome.kind).toBe('returned');
    const wrong = deliveries.run('delivered', [`sha256=${code}`, 'Hello, World?']);
    expect(wrong.outcome).toMatchObject({ kind: 'refused', message: 'not signed by GitHub' });
  });

  it('says truly what the seats do', async () => {
    const seats = await RunningModule.of(path.join(folder, 'seats.ts'));
    const [first, second] = seats.raw.reducers
      .map(({ sourceName }) => sourceName)
      .filter((name) => name.startsWith('body'));
    expect(seats.linesOf(first ?? '')).toEqual(['0n', '[] 0n']);
    expect(seats.linesOf(second ?? '')).toHaveLength(1);
  });
});
