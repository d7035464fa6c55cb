/**
 * From the event of a saved file to the new program answering, by the real command in a real
 * project: a module of 2,000 lines, of which each save changes one number. The bars are those of
 * `[console 3.2]`; type errors are timed from the same event.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const command = path.join(root, 'dist/cli/main.js');

/** Saves that are measured, and those before them, after which everything is warm. */
const savesMax = 100;
const warmSaves = 5;
const lineCount = 2_000;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'dev-bench-'));
  const project = new Project(path.join(folder, 'project'));
  const dev = new Dev(folder, project.folder, await freePort());
  try {
    await dev.says('watching.');
    const saves = Math.max(3, Math.ceil(savesMax * Math.min(scale, 1)));
    const warm = scale < 0.1 ? 1 : warmSaves;
    const millis: number[] = [];
    for (let round = 1; round <= warm + saves; round += 1) {
      const took = await dev.answers(round, () => project.save(round));
      if (round > warm) millis.push(took);
      // As a person would: the next save comes when the one before is over.
      await wait(scale < 0.1 ? 0 : 400);
    }
    const typed = await dev.saysAfter('type errors', () => project.save(-1));
    return [
      { name: 'save to answer, median (at most 300)', unit: 'ms', value: quantile(millis, 0.5) },
      { name: 'save to answer, p95 (at most 800)', unit: 'ms', value: quantile(millis, 0.95) },
      { name: 'save to type errors (at most 2,000)', unit: 'ms', value: typed },
    ];
  } finally {
    await dev.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** A module of reducers with a few lines each, and a compiler beside it. */
class Project {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    const modules = path.join(folder, 'node_modules');
    mkdirSync(path.join(folder, 'src'), { recursive: true });
    mkdirSync(path.join(modules, '.bin'), { recursive: true });
    symlinkSync(root, path.join(modules, 'reducerdb'));
    symlinkSync(path.join(root, 'node_modules/typescript'), path.join(modules, 'typescript'));
    symlinkSync('../typescript/bin/tsc', path.join(modules, '.bin/tsc'));
    copyFileSync(
      path.join(root, 'templates/basic/tsconfig.json'),
      path.join(folder, 'tsconfig.json'),
    );
    this.#write('package.json', '{ "name": "long", "private": true, "type": "module" }');
    this.#write('service.json', '{ "database": "long", "module-path": "." }');
    this.save(0);
  }

  /** Writes the module of this round; below zero, with a type error. */
  save(round: number): void {
    const lines = [...head(round)];
    for (let at = 0; lines.length < lineCount; at += 1) lines.push(...reducerLines(at));
    this.#write('src/index.ts', lines.join('\n'));
  }

  #write(name: string, text: string): void {
    writeFileSync(path.join(this.folder, name), text);
  }
}

const head = (round: number) => [
  "import { SenderError, schema, t, table } from 'reducerdb/server';",
  'const item = table(',
  '  { public: true },',
  '  { id: t.u64().primaryKey().autoInc(), name: t.string().index(), amount: t.i64() },',
  ');',
  'const db = schema({ item });',
  'export default db;',
  'export const round = db.reducer({ returns: t.i32() }, {}, () => roundNumber);',
  round < 0 ? 'const roundNumber: string = -1;' : `const roundNumber = ${round};`,
  '',
];

const reducerLines = (at: number) => [
  `/** Changes the amount of an item by ${at} times as much. */`,
  `export const change${at} = db.reducer({ id: t.u64(), by: t.i64() }, (ctx, { id, by }) => {`,
  '  const found = ctx.db.item.id.find(id);',
  "  if (found === null) throw new SenderError('there is no such item');",
  `  const amount = found.amount + by * ${at}n;`,
  '  for (const other of ctx.db.item.name.filter(found.name)) {',
  '    if (other.id !== id && other.amount === amount) {',
  "      throw new SenderError('another item has this amount: ' + other.id);",
  '    }',
  '  }',
  '  ctx.db.item.id.update({ ...found, amount });',
  '});',
  '',
];

/** A running `dev`, and its service as a caller sees it. */
class Dev {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #project: string;
  readonly #ended: Promise<void>;
  readonly #agent = new Agent({ keepAlive: true });
  #output = '';

  constructor(folder: string, project: string, port: number) {
    this.#port = port;
    this.#project = project;
    const words = ['--root-dir', path.join(folder, 'user'), 'dev', '--server-only'];
    this.#child = spawn(process.execPath, [command, ...words, '--port', String(port)], {
      cwd: project,
      env: { ...process.env, NO_COLOR: '1' },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk) => {
        this.#output += chunk;
      });
    }
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
  }

  async says(text: string, from = 0): Promise<void> {
    while (!this.#output.slice(from).includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`dev has ended:\n${this.#output}`);
      await wait(5);
    }
  }

  /** Milliseconds from the start of `save` until it says this. */
  async saysAfter(text: string, save: () => void): Promise<number> {
    const from = this.#output.length;
    const started = performance.now();
    save();
    await this.says(text, from);
    return performance.now() - started;
  }

  /** Milliseconds from the start of `save` until the program of this round answers a call. */
  async answers(round: number, save: () => void): Promise<number> {
    const started = performance.now();
    save();
    while ((await this.#call()) !== String(round)) {
      if (this.#child.exitCode !== null) throw new Error(`dev has ended:\n${this.#output}`);
      await wait(5);
    }
    return performance.now() - started;
  }

  async end(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
    this.#agent.destroy();
  }

  #call(): Promise<string> {
    const token = readFileSync(path.join(this.#project, '.reducerdb/token'), 'utf8').trim();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const place = { host: '127.0.0.1', port: this.#port, path: '/v1/database/long/call/round' };
    return new Promise((resolve, reject) => {
      const sent = request({ ...place, method: 'POST', headers, agent: this.#agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        answer.on('end', () => resolve(text.trim()));
      });
      sent.on('error', reject);
      sent.end('[]');
    });
  }
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
