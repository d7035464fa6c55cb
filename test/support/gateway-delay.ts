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
 * A process that works for 25 ms in one go, ten times a second, and nothing else. How late that makes
 * it is the machine's doing: a test on a machine with more work than cores compares with it.
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

/** `TEST_SLOWNESS`: the factor for a machine that runs other tests at the same time. */
const p999MillisMax = 50 * Number(process.env.TEST_SLOWNESS ?? 1);
const timesMachineMax = 2;
const roundsMax = 4;

/**
 * Measures until the gateway was in time, at most four times, and gives the best round. Where more
 * wants to run than there are cores, what takes 50 ms of the processor's time takes several times as
 * long; so the bound is 50 ms, or twice as late as a process beside it is that never works for more
 * than 25 ms in one go. A process is now and then late by bad luck, too: then another round follows.
 * What the gateway does in one go for a text it does in every round.
 */
export async function leastDelay(
  measure: () => Promise<{ readonly gateway: GatewayDelay; readonly machine: GatewayDelay }>,
): Promise<{ readonly late: number; readonly bound: number; readonly figures: string }> {
  const rounds: { late: number; bound: number; figures: string }[] = [];
  for (let round = 0; round < roundsMax; round += 1) {
    const { gateway, machine } = await measure();
    if (gateway.count === 0 || machine.count === 0) throw new Error('nothing was measured');
    const late = gateway.p999Millis;
    const ofMachine = machine.p999Millis;
    const bound = Math.max(p999MillisMax, timesMachineMax * ofMachine);
    const words = [gateway.p50Millis, gateway.p99Millis, late, ofMachine].map((millis) =>
      millis.toFixed(1),
    );
    const figures = `p50, p99, p99.9, p99.9 of the machine: ${words.join(', ')} ms`;
    rounds.push({ late, bound, figures });
    if (late < bound) break;
  }
  return rounds.reduce((best, round) =>
    round.late - round.bound < best.late - best.bound ? round : best,
  );
}

function asked(child: ChildProcess, word: 'read' | 'reset'): Promise<GatewayDelay> {
  return new Promise((resolve) => {
    child.once('message', (figures) => resolve(figures as GatewayDelay));
    child.send(word);
  });
}
