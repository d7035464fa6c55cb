import { existsSync } from 'node:fs';
import { limits } from '../../limits.ts';
import type { Child, ChildStarter } from './child-starter.ts';
import { DirectStarter } from './direct-starter.ts';
import type { ChildOrder } from './spawn-child.ts';
import { BoardRefused, Spawner, SpawnerEnded } from './spawner.ts';
import { workerEntry } from './worker-entry.ts';

/**
 * Uses a spawner where the system shows the boards of this process as files. `replaced` is called
 * when one has ended on its own, and another one starts.
 */
export function childStarter(replaced: () => void): ChildStarter {
  return existsSync('/proc/self/fd') ? new SpawnerStarter({ replaced }) : new DirectStarter();
}

export interface SpawnerOptions {
  readonly answerMillisMax: number;
  /** A path by which the spawner can open a descriptor of this process. */
  readonly pathOf: (descriptor: number) => string;
  readonly replaced: () => void;
}

/**
 * Starts processes from a spawner, so that the gateway is not blocked meanwhile, however much
 * memory it has. The spawner starts with the first process at the latest, when the gateway is
 * small; one that has ended is replaced when it is needed.
 */
export class SpawnerStarter implements ChildStarter {
  readonly #options: SpawnerOptions;
  readonly #direct = new DirectStarter();
  #spawner: Spawner | undefined;
  /** True when the system keeps the spawner from opening the boards, so that it is useless. */
  #isRefused = false;
  #isClosed = false;

  /** Tests pass other options. */
  constructor(options: Partial<SpawnerOptions> = {}) {
    this.#options = {
      answerMillisMax: limits.spawnerMillisMax,
      pathOf: (descriptor) => `/proc/${process.pid}/fd/${descriptor}`,
      replaced: () => undefined,
      ...options,
    };
  }

  prepare(): void {
    // The first caller that needs it gets the error.
    this.#living().catch(() => undefined);
  }

  async start(order: ChildOrder, board: number): Promise<Child> {
    for (let attempt = 1; !this.#isRefused; attempt += 1) {
      try {
        const spawner = await this.#living();
        return await spawner.start(order, this.#options.pathOf(board));
      } catch (error) {
        if (error instanceof BoardRefused) this.#isRefused = true;
        else if (!(error instanceof SpawnerEnded) || attempt >= limits.spawnAttemptsMax)
          throw error;
      }
    }
    return this.#direct.start(order, board);
  }

  readonly run = async (command: string, words: readonly string[]): Promise<void> => {
    if (this.#isRefused) return this.#direct.run(command, words);
    const spawner = await this.#living();
    return spawner.run(command, words);
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#spawner?.close();
  }

  async #living(): Promise<Spawner> {
    const entry = await workerEntry('spawner');
    if (this.#isClosed) throw new Error('the service is stopping');
    if (this.#spawner?.hasEnded === true) this.#options.replaced();
    if (this.#spawner === undefined || this.#spawner.hasEnded) {
      this.#spawner = new Spawner(entry, this.#options.answerMillisMax);
    }
    return this.#spawner;
  }
}
