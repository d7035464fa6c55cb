import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { EngineCapabilities } from '../shared-log/shared-log.ts';

export interface EngineCopiesOptions {
  readonly engine: { capabilities(): Promise<EngineCapabilities> };
  readonly report: Report;
}

/**
 * Warns when the engine keeps one copy from now on, which a host would refuse at its start: a
 * reload of its settings is enough for that, and commits go on.
 */
export class EngineCopies {
  readonly #options: EngineCopiesOptions;
  #timer: NodeJS.Timeout | undefined;
  #isSingle = false;

  constructor(options: EngineCopiesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), limits.engineCopiesLookMillis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Never rejects: an engine that does not answer is of another's concern. */
  async look(): Promise<void> {
    const { engine, report } = this.#options;
    const found = await engine.capabilities().catch(() => undefined);
    if (found === undefined || (found.copies === 1) === this.#isSingle) return;
    this.#isSingle = found.copies === 1;
    if (this.#isSingle) report({ level: 'warn', message: singleText });
    else report({ level: 'info', message: 'the engine of the cluster keeps several copies again' });
  }
}

const singleText =
  'the engine of the cluster keeps one copy now (`synchronous_standby_names` is empty): commits ' +
  'are acknowledged that the loss of that server would lose. Set it to a standby again';
