import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Isolation } from '../../../src/host/workers/isolation.ts';
import { descendantsOf, residentBytes } from '../descendants.ts';
import { root } from '../harness.ts';

/**
 * More than the service needs; a fault in it must not take the whole machine down. From Node 24 on,
 * what the engine reserves for the code of each thread counts, too: half a gibibyte of addresses.
 */
const dataBytesMax =
  6_000_000_000 + (Number.parseInt(process.versions.node, 10) < 24 ? 0 : 2 ** 34);

const mebibyte = 1024 * 1024;

/** What the service process says about itself. */
export interface ServiceFigures {
  readonly rss: number;
  /** By how much its event loop was late, since the last reset. */
  readonly delayMillis: { readonly p999: number; readonly max: number };
}

export interface Memory {
  readonly gatewayMebibytes: number;
  readonly childrenMebibytes: number;
  readonly childCount: number;
}

/** The process under siege. */
export class Besieged {
  readonly #child: ChildProcess;
  readonly url: string;
  output = '';

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
    child.stderr?.on('data', (chunk) => {
      this.output = (this.output + String(chunk)).slice(-4_000);
    });
  }

  static async start(folder: string, port: number, isolation: Isolation): Promise<Besieged> {
    if (!existsSync(path.join(root, 'dist'))) {
      throw new Error('dist is missing: run `npm run build` first');
    }
    const script = path.join(root, 'test/service/siege/besieged-service.mjs');
    const limit = ['/usr/bin/prlimit', '/bin/prlimit'].filter(existsSync).slice(0, 1);
    const words = [
      ...limit.flatMap((command) => [command, '--core=0', `--data=${dataBytesMax}`]),
      ...[process.execPath, script, folder, String(port), isolation],
    ];
    const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const;
    const child = spawn(words[0] ?? '', words.slice(1), { stdio: [...stdio] });
    const ended = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`the service ended before it served: ${code ?? signal}`);
    });
    const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }];
    ended.catch(() => undefined);
    return new Besieged(child, url);
  }

  /** How it ended, by code or signal; `undefined` while it runs. */
  get end(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    return exitCode === null ? (signalCode ?? undefined) : `exit code ${exitCode}`;
  }

  /** `reset`: its delays are counted from here on. */
  async figures(word: 'tell' | 'reset' = 'tell'): Promise<ServiceFigures | undefined> {
    if (this.end !== undefined) return undefined;
    const gone = once(this.#child, 'exit').then(() => []);
    const told = once(this.#child, 'message');
    this.#child.send(word);
    const [figures] = await Promise.race([told, gone]);
    return figures as ServiceFigures | undefined;
  }

  memory(): Memory {
    const { pid = 0 } = this.#child;
    const children = descendantsOf(pid);
    const bytes = children.reduce((sum, child) => sum + residentBytes(child), 0);
    return {
      gatewayMebibytes: Math.round(residentBytes(pid) / mebibyte),
      childrenMebibytes: Math.round(bytes / mebibyte),
      childCount: children.length,
    };
  }

  /** As a power cut would: nothing is finished, nothing is flushed. */
  async kill(): Promise<void> {
    if (this.end !== undefined) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}

/** Starts the clients that behave. */
export function startLoader(): ChildProcess {
  return fork(path.join(root, 'test/service/siege/loader.mjs'), [], { execArgv: [] });
}
