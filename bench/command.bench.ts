/**
 * What the command line costs a person who waits for it: from its start to its end, less what an
 * empty program of Node takes, in the best of several runs. Beside it stands the processor time of
 * its processes of Node, which other work on the machine hardly changes, and its ratio to that of the
 * empty program. The bars are those of `[ease 5.1]`.
 */
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { startService } from '../src/service/start-service.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
}

interface Cost {
  readonly millis: number;
  /** User and system time. */
  readonly processorMillis: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const command = path.join(root, 'dist/cli/main.js');
const shipped = new URL('../dist/service/index.js', import.meta.url).href;
const run = promisify(execFile);

/** Runs of each; of a smaller scale fewer, but one at least. */
const rounds = 15;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'command-bench-'));
  const started = (await import(shipped)) as { readonly startService: typeof startService };
  const service = await started.startService({
    listen: { host: '127.0.0.1', port: 0 },
    dataDirectory: path.join(folder, 'data'),
    logLevel: 'silent',
  });
  const common = ['--root-dir', path.join(folder, 'user')];
  const server = ['--server', `http://127.0.0.1:${service.address.port}`];
  const clock = new Clock(folder);
  try {
    const module = path.join(root, 'test/fixtures/modules/inn');
    await clock.run([command, ...common, 'publish', 'inn', '-p', module, ...server]);
    const long = makeLongModule(folder);
    const count = Math.max(1, Math.ceil(rounds * Math.min(scale, 1)));
    const empty = await clock.best(count, ['-e', '0']);
    const figures = async (name: string, words: readonly string[], prepare?: Prepare) => {
      const cost = await clock.best(count, [command, ...common, ...words], prepare);
      return figuresOf(name, cost, empty);
    };
    const publish = ['publish', 'long', '-p', long, '--yes', ...server];
    return [
      { name: 'an empty program', unit: 'ms', value: empty.millis },
      ...(await figures('--help, own time (at most 120)', ['--help'])),
      ...(await figures('version, own time (at most 120)', ['version'])),
      ...(await figures('call, own time (at most 200)', ['call', 'inn', 'count_visit', ...server])),
      ...(await figures('sql, own time (at most 200)', ['sql', 'inn', 'SELECT 1', ...server])),
      ...(await figures('publish of 500 lines, own time (at most 1,500)', publish, (round) => {
        writeLongModule(long, round);
      })),
    ];
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function figuresOf(name: string, cost: Cost, empty: Cost): Figure[] {
  const { processorMillis: value } = cost;
  const baseline = empty.processorMillis;
  return [
    { name, unit: 'ms', value: Math.max(cost.millis - empty.millis, 0.1) },
    {
      name: `${name.split(',')[0]}, processor time, that of an empty program as baseline`,
      unit: 'ms',
      value,
      baseline,
      ratio: value / baseline,
    },
  ];
}

/** What happens before each run. */
type Prepare = (round: number) => void;

/** Runs programs of Node; each process writes down its processor time when it ends. */
class Clock {
  readonly #hook: string;
  readonly #times: string;

  constructor(folder: string) {
    this.#hook = path.join(folder, 'processor-time.cjs');
    this.#times = path.join(folder, 'processor-times');
    const times = JSON.stringify(this.#times);
    writeFileSync(
      this.#hook,
      `process.on('exit', () => {
        const { user, system } = process.cpuUsage();
        require('node:fs').appendFileSync(${times}, String(user + system) + '\\n');
      });`,
    );
  }

  async run(args: readonly string[]): Promise<Cost> {
    writeFileSync(this.#times, '');
    const env = { ...process.env, NODE_OPTIONS: `--require=${this.#hook}` };
    const start = performance.now();
    await run(process.execPath, args, { env });
    const millis = performance.now() - start;
    const lines = readFileSync(this.#times, 'utf8').trim().split('\n');
    const micros = lines.reduce((sum, line) => sum + Number(line), 0);
    return { millis, processorMillis: micros / 1_000 };
  }

  async best(count: number, args: readonly string[], prepare?: Prepare): Promise<Cost> {
    let [millis, processorMillis] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let round = 0; round < count; round += 1) {
      prepare?.(round);
      const cost = await this.run(args);
      millis = Math.min(millis, cost.millis);
      processorMillis = Math.min(processorMillis, cost.processorMillis);
    }
    return { millis, processorMillis };
  }
}

/** The folder of a module, with a compiler beside it, so that its types are checked. */
function makeLongModule(folder: string): string {
  const module = path.join(folder, 'long');
  mkdirSync(path.join(module, 'src'), { recursive: true });
  const manifest = { name: 'long', private: true, type: 'module' };
  writeFileSync(path.join(module, 'package.json'), JSON.stringify(manifest));
  copyFileSync(
    path.join(root, 'templates/basic/tsconfig.json'),
    path.join(module, 'tsconfig.json'),
  );
  const modules = path.join(module, 'node_modules');
  mkdirSync(path.join(modules, '.bin'), { recursive: true });
  symlinkSync(root, path.join(modules, 'reducerdb'));
  symlinkSync(path.join(root, 'node_modules/typescript'), path.join(modules, 'typescript'));
  symlinkSync('../typescript/bin/tsc', path.join(modules, '.bin/tsc'));
  return module;
}

/** 500 lines, another program in each round: one that serves already is not published again. */
function writeLongModule(module: string, round: number): void {
  const reducers = Array.from({ length: 61 }, (_, at) => reducerText(at, round));
  writeFileSync(path.join(module, 'src/index.ts'), [head, ...reducers].join('\n'));
}

const head = `import { SenderError, schema, t, table } from 'reducerdb/server';

const item = table(
  { public: true },
  { id: t.u64().primaryKey().autoInc(), name: t.string().index(), amount: t.i64() },
);

const db = schema({ item });
export default db;
`;

const reducerText = (at: number, round: number) => `/** Number ${at}. */
export const change${at} = db.reducer({ id: t.u64(), by: t.i64() }, (ctx, { id, by }) => {
  const found = ctx.db.item.id.find(id);
  if (found === null) throw new SenderError('there is no such item');
  const amount = found.amount + by * ${at + round}n;
  ctx.db.item.id.update({ ...found, amount });
});
`;
