import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { RunningService, root, type Sandbox } from '../service/harness.ts';

/** How late the gateway came to its work; the time between two looks, about 1 ms, is included. */
export interface GatewayDelay {
  readonly p50Millis: number;
  readonly p99Millis: number;
  readonly p999Millis: number;
  readonly maxMillis: number;
  /** Looks since the last reset. */
  readonly count: number;
}

/** A service in a process of its own, whose event loop is watched. Needs `dist`. */
export class MeasuredService extends RunningService {
  static async start(sandbox: Sandbox, flags: readonly string[] = []): Promise<MeasuredService> {
    const address = `127.0.0.1:${sandbox.port}`;
    const global = ['--root-dir', path.join(sandbox.folder, 'root')];
    const args = [...global, 'start', '--listen-addr', address, '--log-level', 'warn', ...flags];
    const child = fork(path.join(root, 'dist/cli/main.js'), args, {
      cwd: sandbox.folder,
      execArgv: ['--import', path.join(root, 'test/support/gateway-delay.mjs')],
      silent: true,
    });
    const service = new MeasuredService(child, sandbox.url);
    await service.untilReady();
    return service;
  }

  /** Since the last reset. */
  gatewayDelay(): Promise<GatewayDelay> {
    return asked(this.child, 'read');
  }

  async resetDelay(): Promise<void> {
    await asked(this.child, 'reset');
  }
}

/**
 * A process that works in slices of 5 ms and nothing else. What it is late is the machine's doing:
 * a test on a machine with more work than cores compares with it.
 */
export class MachineDelay {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(path.join(root, 'test/support/slices-of-work.mjs'), [], {
      execArgv: ['--import', path.join(root, 'test/support/gateway-delay.mjs')],
      silent: true,
    });
  }

  read(): Promise<GatewayDelay> {
    return asked(this.#child, 'read');
  }

  async reset(): Promise<void> {
    await asked(this.#child, 'reset');
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

function asked(child: ChildProcess, word: 'read' | 'reset'): Promise<GatewayDelay> {
  return new Promise((resolve) => {
    child.once('message', (figures) => resolve(figures as GatewayDelay));
    child.send(word);
  });
}
