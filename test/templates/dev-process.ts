import { type ChildProcess, spawn } from 'node:child_process';
import { expect } from 'vitest';

/** A command in a process group of its own, as a terminal starts it; such as `npm run dev`. */
export class DevProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  /** All that it has printed. */
  output = '';

  constructor(line: string, cwd: string, env: NodeJS.ProcessEnv) {
    const args = ['-euo', 'pipefail', '-c', line];
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    this.#child = spawn('bash', args, { cwd, env, stdio: [...stdio], detached: true });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk) => {
        this.output += chunk;
      });
    }
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
  }

  /** Waits until it has printed something of this form; gives what the form captures first. */
  async says(form: RegExp): Promise<string> {
    const found = () => form.exec(this.output);
    const isOver = () => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await expect
      .poll(() => (found() !== null || isOver() ? 'said' : this.output), { timeout: 600_000 })
      .toBe('said');
    const match = found();
    if (match === null) throw new Error(`it has ended without ${form}:\n${this.output}`);
    return match[1] ?? match[0];
  }

  /** The address of the page, once it is served. */
  page(): Promise<string> {
    return this.says(/^page: (\S+)/m);
  }

  /** Ends it as Ctrl-C does, and waits until it and all that it has started are gone. */
  async stop(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGINT');
    } catch {
      // It has ended.
    }
    await this.#ended;
  }
}
