import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { writeFiles } from './cli-support.ts';
import { root, Sandbox } from './harness.ts';

/** A module with a table `items`; `columns` and `more` vary it. */
export function devModule(columns = '', more = '', table = 'items'): string {
  return `import { schema, table, t } from 'reducerdb/server';
const ${table} = table(
  { public: true },
  { id: t.u32().primaryKey().autoInc(), name: t.string()${columns} },
);
const db = schema({ ${table} });
export default db;
export const add = db.reducer({ name: t.string() }, (ctx, { name }) => {
  console.log('adding ' + name);
  ctx.db.${table}.insert({ id: 0, ${columns.includes('title') ? 'title: name' : 'name'} } as never);
});
${more}`;
}

/** A project in a folder of its own, and the runs of `dev` in it. */
export class DevDesk {
  readonly sandbox: Sandbox;
  folder: string;
  readonly #runs: DevRun[] = [];

  private constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
    this.folder = path.join(sandbox.folder, 'project');
  }

  static async make(files: Readonly<Record<string, unknown>> = {}): Promise<DevDesk> {
    const desk = new DevDesk(await Sandbox.make());
    desk.write({
      'package.json': { name: 'shop', private: true, type: 'module' },
      'service.json': { database: 'shop', 'module-path': '.' },
      'src/index.ts': devModule(),
      ...files,
    });
    return desk;
  }

  write(files: Readonly<Record<string, unknown>>): void {
    writeFiles(this.folder, files);
  }

  read(name: string): string {
    return readFileSync(path.join(this.folder, name), 'utf8');
  }

  /** Makes the project one with a compiler, and with this package installed. */
  installTypes(): void {
    this.write({
      'tsconfig.json': readFileSync(path.join(root, 'templates/basic/tsconfig.json'), 'utf8'),
    });
    const modules = path.join(this.folder, 'node_modules');
    mkdirSync(path.join(modules, '.bin'), { recursive: true });
    symlinkSync(root, path.join(modules, 'reducerdb'));
    symlinkSync(path.join(root, 'node_modules/typescript'), path.join(modules, 'typescript'));
    symlinkSync('../typescript/bin/tsc', path.join(modules, '.bin/tsc'));
  }

  /** Starts `dev` in the project. */
  dev(flags: readonly string[] = [], port = this.sandbox.port): DevRun {
    const run = new DevRun(this, ['dev', '--port', String(port), ...flags]);
    this.#runs.push(run);
    return run;
  }

  /** Starts `dev` without a front end, and waits until it watches. */
  async watching(flags: readonly string[] = []): Promise<DevRun> {
    const run = this.dev(['--server-only', ...flags]);
    await run.says('watching.');
    return run;
  }

  async remove(): Promise<void> {
    for (const run of this.#runs) await run.quit();
    this.sandbox.remove();
  }
}

/** One run of `dev`, driven by lines on its input. */
export class DevRun {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** All that it has printed. */
  output = '';
  readonly #desk: DevDesk;
  #from = 0;

  constructor(desk: DevDesk, args: readonly string[]) {
    this.#desk = desk;
    this.child = desk.sandbox.spawn(args, { cwd: desk.folder });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk) => {
        this.output += chunk;
      });
    }
    this.ended = new Promise((resolve) => this.child.once('close', (code) => resolve(code)));
  }

  /** Waits for a text after what was waited for before; gives its line. */
  async says(text: string | RegExp): Promise<string> {
    const find = () => {
      const rest = this.output.slice(this.#from);
      if (typeof text === 'string') return rest.indexOf(text);
      return rest.search(text);
    };
    await expect
      .poll(() => (find() >= 0 ? 'said' : this.output), { timeout: 60_000, interval: 20 })
      .toBe('said');
    const at = this.#from + find();
    const start = this.output.lastIndexOf('\n', at) + 1;
    const end = this.output.indexOf('\n', at);
    this.#from = end < 0 ? this.output.length : end;
    return this.output.slice(start, this.#from);
  }

  /** Writes a line to its input. */
  line(text: string): void {
    this.child.stdin?.write(`${text}\n`);
  }

  get url(): string {
    return (JSON.parse(this.#desk.read('.reducerdb/dev.json')) as { url: string }).url;
  }

  get servicePid(): number {
    return (JSON.parse(this.#desk.read('.reducerdb/dev.json')) as { pid: number }).pid;
  }

  /** Calls a reducer as the owner of the database. */
  async call(name: string, args: readonly unknown[], database = 'shop'): Promise<Response> {
    return fetch(`${this.url}/v1/database/${database}/call/${name}`, {
      method: 'POST',
      headers: this.#headers('application/json'),
      body: JSON.stringify(args),
    });
  }

  /** The rows of a statement, as arrays. */
  async sql(statement: string, database = 'shop'): Promise<unknown[][]> {
    const answer = await fetch(`${this.url}/v1/database/${database}/sql`, {
      method: 'POST',
      headers: this.#headers('text/plain'),
      body: statement,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return (JSON.parse(text) as { rows: unknown[][] }[])[0]?.rows ?? [];
  }

  #headers(type: string): Record<string, string> {
    const token = this.#desk.read('.reducerdb/token').trim();
    return { authorization: `Bearer ${token}`, 'content-type': type };
  }

  /** Ends it; gives its exit code. */
  async quit(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    return this.ended;
  }
}

/** True while a process with this id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Puts a text in place of another in a file. */
export function edit(file: string, from: string, to: string): void {
  const text = readFileSync(file, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
  writeFileSync(file, text.replace(from, to));
}
