/**
 * Loads in processes of their own, so that what they take is not counted for the service. A load is
 * a file that calls `obey` with what it can do; the benchmark starts it and gives it orders.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** What a load can do; orders and answers are plain data. */
export type Skills = Record<string, (order: never) => unknown>;

type Order<Skill> = Skill extends (order: infer Given) => unknown ? Given : never;
type Answer<Skill> = Skill extends (order: never) => infer Result ? Awaited<Result> : never;

/** A running load, as the benchmark sees it. */
export class LoadProcess<Can extends Skills> {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (said: Said) => void>();
  #lastOrder = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (said: Said) => {
      this.#waiting.get(said.order)?.(said);
      this.#waiting.delete(said.order);
    });
    child.on('exit', (code) => {
      const failure = `the load ended with ${code}`;
      for (const [order, tell] of this.#waiting) tell({ order, failure });
    });
  }

  /** `file` is a TypeScript file of this folder, or of another one by its whole path. */
  static async start<Can extends Skills>(file: string): Promise<LoadProcess<Can>> {
    const child = fork(await bundled(file), { serialization: 'advanced' });
    return new LoadProcess<Can>(child);
  }

  ask<Name extends keyof Can & string>(
    name: Name,
    given: Order<Can[Name]>,
  ): Promise<Answer<Can[Name]>> {
    this.#lastOrder += 1;
    const order = this.#lastOrder;
    return new Promise((resolve, reject) => {
      this.#waiting.set(order, ({ answer, failure }) => {
        if (failure === undefined) resolve(answer as Answer<Can[Name]>);
        else reject(new Error(failure));
      });
      this.#child.send({ order, name, given } satisfies Ordered);
    });
  }

  /** Resolves when it has ended, which it may have done by itself. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }
}

/** Within a load: does what the benchmark asks for, until it lets go. */
export function obey(skills: Skills): void {
  process.on('message', async ({ order, name, given }: Ordered) => {
    try {
      const answer = await skills[name]?.(given as never);
      process.send?.({ order, answer } satisfies Said);
    } catch (error) {
      process.send?.({ order, failure: String(error) } satisfies Said);
    }
  });
  process.on('disconnect', () => process.exit());
}

interface Ordered {
  readonly order: number;
  readonly name: string;
  readonly given: unknown;
}

interface Said {
  readonly order: number;
  readonly answer?: unknown;
  readonly failure?: string;
}

async function bundled(file: string): Promise<string> {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const folder = path.resolve(here, '../../node_modules/.cache/reducerdb/load');
  mkdirSync(folder, { recursive: true });
  const outfile = path.join(folder, `${path.basename(file, '.ts')}-${process.pid}.mjs`);
  const unfinished = `${outfile}.new`;
  await build({
    entryPoints: [path.resolve(here, file)],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'silent',
  });
  renameSync(unfinished, outfile);
  return outfile;
}
