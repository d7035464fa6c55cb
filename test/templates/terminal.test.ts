import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root, Sandbox } from '../service/harness.ts';

/** Of util-linux: runs a command in a terminal of its own. */
const hasTerminals = /util-linux/.test(String(spawnSync('script', ['--version']).stdout));

const down = '\u001b[B';
const enter = '\r';
const interrupt = '\u0003';

/** `reducerdb init` in a terminal, where a person answers. */
class Terminal {
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #output = '';

  constructor(folder: string, words: string) {
    const command = path.join(root, 'dist/cli/main.js');
    const line = `stty cols 100 rows 40; exec '${process.execPath}' '${command}' init ${words}`;
    this.#child = spawn('script', ['-qefc', line, '/dev/null'], {
      cwd: folder,
      env: { ...process.env, HOME: folder, TERM: 'xterm', CI: '' },
      stdio: 'pipe',
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk) => {
      this.#output += chunk;
    });
    this.ended = new Promise((resolve) => this.#child.once('close', resolve));
  }

  /** What was shown so far, without colours and movements. */
  get shown(): string {
    return stripVTControlCharacters(this.#output);
  }

  async says(text: string): Promise<void> {
    await expect.poll(() => this.shown).toContain(text);
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }
}

describe.skipIf(!hasTerminals)('init in a terminal', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await Sandbox.make();
  });
  afterAll(() => sandbox.remove());

  it('[cli 7.1] asks for a name and a template', async () => {
    const terminal = new Terminal(sandbox.folder, '');
    await terminal.says('What is the project called?');
    terminal.type(`My App${enter}`);
    await terminal.says('Which template?');
    await terminal.says('a live page in React');
    terminal.type(`${down}${enter}`);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown).toContain('npm run dev');
    const manifest = readFileSync(path.join(sandbox.folder, 'my-app/package.json'), 'utf8');
    expect(Object.keys(JSON.parse(manifest).dependencies)).toContain('vue');
  });

  it('[cli 7.1] asks only for what was not given', async () => {
    const named = new Terminal(sandbox.folder, 'named');
    await named.says('Which template?');
    expect(named.shown).not.toContain('called');
    named.type(enter);
    expect(await named.ended).toBe(0);
    expect(existsSync(path.join(sandbox.folder, 'named/src/app.tsx'))).toBe(true);
    for (const words of ['all -t solid', 'silent --non-interactive', 'agreed -y']) {
      const terminal = new Terminal(sandbox.folder, words);
      expect([words, await terminal.ended]).toEqual([words, 0]);
      expect(terminal.shown).not.toContain('?');
    }
  });

  it('[cli 7.1] creates nothing when it is interrupted', async () => {
    const before = readdirSync(sandbox.folder);
    const terminal = new Terminal(sandbox.folder, 'never');
    await terminal.says('Which template?');
    terminal.type(interrupt);
    expect(await terminal.ended).toBe(1);
    expect(terminal.shown).toContain('Nothing was created.');
    expect(readdirSync(sandbox.folder)).toEqual(before);
  });
});
