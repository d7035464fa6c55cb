import { Refusal } from '../../database/outcome.ts';
import type { LinkedProgram } from '../../module/runner.ts';
import { ProgramError } from '../../module/runner.ts';
import { findKept, type KeptPlace, readKept } from '../linking/kept-programs.ts';
import { decodeLinked, originOf } from '../linking/linked-file.ts';
import { programHash, rememberHash } from '../linking/program-hash.ts';
import type { LinkOutcome } from '../messages/worker-messages.ts';

export interface RemoteLinkerOptions {
  /** `undefined`: nothing is kept. */
  readonly kept: KeptPlace | undefined;
  readonly ask: (id: number, bytes: Uint8Array<ArrayBuffer>) => void;
  /** Receives warnings for the operator, without the name of the database. */
  readonly warn: (message: string) => void;
}

/**
 * Links programs in a worker: it reads the kept ones of its database, and asks the gateway, which
 * has the linker, for the others.
 */
export class RemoteLinker {
  readonly #options: RemoteLinkerOptions;
  readonly #waiting = new Map<number, (outcome: LinkOutcome) => void>();
  #lastId = 0;

  constructor(options: RemoteLinkerOptions) {
    this.#options = options;
  }

  /** Rejects with `ProgramError`, or with `Refusal` where the program is not at fault. */
  async link(bytes: Uint8Array): Promise<LinkedProgram> {
    const found = this.#readKept(bytes);
    if (found !== undefined) return found;
    this.#lastId += 1;
    const id = this.#lastId;
    const outcome = await new Promise<LinkOutcome>((resolve) => {
      this.#waiting.set(id, resolve);
      // A transferred copy saves the gateway from copying it.
      this.#options.ask(id, new Uint8Array(bytes));
    });
    switch (outcome.kind) {
      case 'linked':
        rememberHash(bytes, new Uint8Array(originOf(outcome.bytes).programHash));
        return decodeLinked(outcome.bytes);
      case 'failed':
        throw new ProgramError(outcome.message);
      case 'refused':
        throw new Refusal(outcome.body);
    }
  }

  #readKept(bytes: Uint8Array): LinkedProgram | undefined {
    const { kept, warn } = this.#options;
    if (kept === undefined) return undefined;
    const found = findKept(kept, bytes);
    if (found === 'none') return undefined;
    if (found === 'unclear') return readKept(kept, programHash(bytes), warn);
    rememberHash(bytes, found.programHash);
    return found.linked;
  }

  settle(id: number, outcome: LinkOutcome): void {
    this.#waiting.get(id)?.(outcome);
    this.#waiting.delete(id);
  }
}
