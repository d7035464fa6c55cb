import { limits } from '../../limits.ts';
import type { Sandbox } from '../../module/javascript/runner.ts';

export interface SandboxesOptions {
  readonly open: () => Sandbox;
  /** An unused one, for the program that is loaded first. */
  readonly first?: Sandbox | undefined;
  /** True: the next one is opened ahead. */
  readonly keepsSpare?: boolean | undefined;
}

/**
 * The sandboxes of the programs that one actor loads. Where somebody waits for each publish, one is
 * there before its program comes: opening it takes a third as long as all that is left to do then.
 * It is opened a moment after the last one was taken, when that program serves and nobody waits.
 */
export class Sandboxes {
  readonly #open: () => Sandbox;
  readonly #keepsSpare: boolean;
  #next: Sandbox | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ open, first, keepsSpare = false }: SandboxesOptions) {
    this.#open = open;
    this.#next = first;
    this.#keepsSpare = keepsSpare;
  }

  readonly take = (): Sandbox => {
    const sandbox = this.#next ?? this.#open();
    this.#next = undefined;
    clearTimeout(this.#timer);
    if (this.#keepsSpare) this.#timer = setTimeout(this.#prepare, limits.spareMillis).unref();
    return sandbox;
  };

  readonly #prepare = (): void => {
    this.#next ??= this.#open();
  };
}
