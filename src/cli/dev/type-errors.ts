import { typeCheck } from '../../bundle/type-check.ts';
import type { DevScreen } from './dev-screen.ts';

/** Checks types beside everything else; a newer check ends the one that runs. */
export class TypeErrors {
  readonly #module: string;
  readonly #screen: DevScreen;
  #running: AbortController | undefined;
  #hadErrors = false;
  #skipped = '';

  constructor(module: string, screen: DevScreen) {
    this.#module = module;
    this.#screen = screen;
  }

  /** Begins a check of what is on the disk now. */
  begin(): void {
    this.end();
    const ending = new AbortController();
    this.#running = ending;
    void this.#check(ending.signal).catch((error: unknown) => {
      if (!ending.signal.aborted) this.#screen.warn(`types are not checked: ${String(error)}`);
    });
  }

  end(): void {
    this.#running?.abort();
  }

  async #check(signal: AbortSignal): Promise<void> {
    const found = await typeCheck(this.#module, signal);
    if (signal.aborted) return;
    switch (found.kind) {
      case 'failed':
        this.#hadErrors = true;
        this.#screen.warn(`type errors (they stop nothing):\n${indented(found.diagnostics)}`);
        return;
      case 'skipped':
        if (this.#skipped !== found.notice) this.#screen.warn(found.notice);
        this.#skipped = found.notice;
        return;
      case 'passed':
        if (this.#hadErrors) this.#screen.say('types are fine again');
        this.#hadErrors = false;
    }
  }
}

function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}
