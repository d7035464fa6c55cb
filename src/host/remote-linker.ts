import { type LinkedProgram, ProgramError } from '../module/runner.ts';
import type { LinkOutcome } from './worker-messages.ts';

/**
 * Linking as a worker does it: it asks the gateway, whose one linker process serves all workers,
 * and which a program that is slow to link does not keep from anything.
 */
export class RemoteLinker {
  readonly #ask: (id: number, bytes: Uint8Array) => void;
  readonly #waiting = new Map<number, (outcome: LinkOutcome) => void>();
  #lastId = 0;

  constructor(ask: (id: number, bytes: Uint8Array) => void) {
    this.#ask = ask;
  }

  async link(bytes: Uint8Array): Promise<LinkedProgram> {
    this.#lastId += 1;
    const id = this.#lastId;
    const outcome = await new Promise<LinkOutcome>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#ask(id, bytes);
    });
    if (outcome.kind === 'failed') throw new ProgramError(outcome.message);
    return outcome.program;
  }

  settle(id: number, outcome: LinkOutcome): void {
    this.#waiting.get(id)?.(outcome);
    this.#waiting.delete(id);
  }
}
